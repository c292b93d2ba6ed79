"""State the programs whose optimum training tends to, and solve them with a certified gap.

:mod:`~.program` states program (2) of Identity Bridge, :mod:`~.nuclear_norm` and
:mod:`~.soft_program` solve it with and without hard margins, :mod:`~.closed_form` and
:mod:`~.symmetric_solver` solve it at complexity one. ``theory/prediction`` builds on
them.
"""
