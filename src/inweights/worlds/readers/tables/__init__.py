"""Tables of facts or edges: rows of text or Parquet, their header and their columns.

``table`` splits text into cells and ``parquet`` reads columns; ``arrange`` decides on
header and columns by the words of ``headers`` and, where these are missing, by the
values (``order``).
"""
