"""A pretrained language model: loading, its data, and scores of answers."""
