"""Keep claims across runs: what was stated before, in which version, and the scores of each.

:mod:`~.lines` is the ledger, :mod:`~.stating` adds claims to it, :mod:`~.scores` has their
numbers, and :mod:`~.board` makes verdicts of both.
"""
