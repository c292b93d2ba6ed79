"""Turn what a sweep varies into trials, and name what differs between them."""
