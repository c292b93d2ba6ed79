"""Tables of facts or edges: rows of text or Parquet, their header and their columns.

``table`` splits text into cells and ``parquet`` reads columns; ``arrange`` finds the
header and the columns by the words of ``headers`` or, if there are none, by the values
(``order``).
"""
