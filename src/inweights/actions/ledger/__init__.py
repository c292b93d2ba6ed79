"""Keep claims across runs: what was stated before, in which version, and the scores of each.

:mod:`~.ledger` has the lines (:mod:`~.lines`), :mod:`~.stating` adds claims,
:mod:`~.scores` has their numbers, which :mod:`~.run_scores` takes from runs, and
:mod:`~.board` makes verdicts of both.
"""
