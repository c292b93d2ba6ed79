"""Interactive pages: the atlas, training in the browser, and the player of a training run."""
