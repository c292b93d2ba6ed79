"""Readers of facts and graphs from files, databases and the Hugging Face hub.

Each module reads one format. ``graphs`` reads graphs, and ``knowledge/files`` selects
the reader of a file of facts. Readers record their assumptions about a file as remarks.
"""
