"""Record claims across runs: when each was stated, in which version, and its scores.

The ledger is a file with one line per event, such as a claim that is stated before its
run. :mod:`~.ledger` reads its lines (:mod:`~.lines`), and :mod:`~.stating` adds claims.
:mod:`~.scores` stores the numbers of claims, which :mod:`~.run_scores` takes from runs.
:mod:`~.board` computes the verdicts from both.
"""
