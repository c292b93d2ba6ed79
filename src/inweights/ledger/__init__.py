"""What was claimed, and what came of it: lines that are only added to, scores, and the board.

A single run is judged in ``lab``. Here is what holds across runs and years: versions of claims, the
seeds that nobody has seen, and the verdicts that the board shows.
"""
