"""Turn a plan into tables: find the missing runs, group those that train together, execute them."""
