"""Read tables of facts or edges: rows of text or Parquet, their header and their columns.

``table`` splits text into cells, and ``parquet`` reads columns. ``arrange`` finds the
header and the columns with the words in ``headers``, or, if there are none, with the
values (``order``).
"""
