"""Several modules as one model: stacked parameters, and one module called with each replica's."""
