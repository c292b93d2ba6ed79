"""Readers of graphs: edge lists, formats of networkx, and nodes with links."""
