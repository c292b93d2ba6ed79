"""Readers of facts and graphs from files, databases and hubs."""
