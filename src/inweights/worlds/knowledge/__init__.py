"""A user's own facts: how they are read, worded and asked about."""
