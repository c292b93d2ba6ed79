"""Turn the varied settings of a sweep into trials, and name what differs between them."""
