"""Several modules as one model: parameters are stacked, and one module is called with them."""
