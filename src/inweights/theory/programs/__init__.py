"""Define the programs whose optimum training approaches, and solve them with a certified gap.

:mod:`~.program` defines program (2) of Identity Bridge. :mod:`~.nuclear_norm` solves it
with hard margins, and :mod:`~.soft_program` without them. :mod:`~.closed_form` and
:mod:`~.symmetric_solver` solve it at complexity one. ``theory/prediction`` uses these
solvers.
"""
