"""Turn a plan into tables: find missing runs, group runs to be trained together, execute them."""
