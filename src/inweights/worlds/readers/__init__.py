"""Readers of facts and graphs from files, databases and the Hugging Face hub.

Each module reads one form. ``graphs`` has those of graphs, and
``knowledge/files`` those of facts; what a reader assumed about a file is a remark.
"""
