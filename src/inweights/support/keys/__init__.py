"""What of a user's files and code enters the key of a run: contents, sources, addresses."""
