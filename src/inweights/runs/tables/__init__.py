"""Tables of single runs, by key, in a folder or a bucket: the store. It knows no plan."""
