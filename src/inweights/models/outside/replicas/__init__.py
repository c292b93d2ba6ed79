"""Several modules as one model: parameters stacked, and one module called with each replica's."""
