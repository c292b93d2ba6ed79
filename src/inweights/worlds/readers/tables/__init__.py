"""Read tables of facts or edges: rows of text or Parquet, their header and their columns.

``table`` splits text into cells, and ``parquet`` reads columns. ``arrange`` finds the
header and the columns from the words in ``headers`` or, if a table contains none of
these words, from the values (``order``).
"""
