"""Readers of facts and graphs from files, databases and the Hugging Face hub.

Each module reads one form. ``graphs`` reads graphs, and ``knowledge/files`` reads
facts; a reader's assumptions about a file are remarks.
"""
