"""Turn a plan into tables: find missing runs, group runs that train together, execute them."""
