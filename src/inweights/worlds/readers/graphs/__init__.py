"""Readers of graphs: edge lists, file formats of networkx, and nodes with links."""
