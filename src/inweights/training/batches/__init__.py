"""Which facts a step reads, and how they are packed."""
