"""Readers of graphs: edge lists, file formats of networkx, and JSON of nodes and links."""
