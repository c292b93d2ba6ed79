"""Users' facts: reading, wording and questions."""
