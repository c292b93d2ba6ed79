"""A pretrained language model: loading, adapters, its data, and scores of answers."""
