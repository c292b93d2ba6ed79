"""Readers of facts and graphs from files, databases and the Hugging Face hub.

Each module reads one format. ``graphs`` reads graphs, and ``knowledge/files`` reads
facts; a reader records its assumptions about a file as remarks.
"""
