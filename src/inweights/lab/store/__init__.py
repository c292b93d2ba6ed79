"""What is stored: tables of single runs, by key, in a folder or a bucket. It knows no plan."""
