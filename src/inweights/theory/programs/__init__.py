"""State the programs whose optimum training approaches, and solve them with a certified gap.

:mod:`~.program` states program (2) of Identity Bridge. :mod:`~.nuclear_norm` solves it
with hard margins and :mod:`~.soft_program` without; :mod:`~.closed_form` and
:mod:`~.symmetric_solver` solve it at complexity one. ``theory/prediction`` builds on
them.
"""
