"""Several modules as one model: their numbers stacked, and the module called with each of them."""
