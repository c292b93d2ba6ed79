"""Readers of facts and graphs: files, databases and hubs. They know no meaning."""
