"""How long recipes took: minutes of their scale ``cpu``, all seeds, where they were timed.

Measured on two cores of a shared machine, with nothing stored before; a guide and no promise. What
a run takes elsewhere is said by ``inweights run RECIPE --dry-run``, which tries out a few steps.
"""

from __future__ import annotations

__all__ = ["MINUTES"]

MINUTES: dict[str, float] = {
    "beyond/frozen-or-reversed": 2.7,
    "beyond/geometry-first": 37,
    "beyond/partial-identity": 2.8,
    "demo/two-hop": 0.2,
    "feature-resemblance/fig1": 0.3,
    "feature-resemblance/table3": 1.1,
    "geometric-memory/e2-e3": 0.1,
    "geometric-memory/fig23-24": 3.9,
    "geometric-memory/fig7": 1.4,
    "geometric-memory/fig8": 1.2,
    "geometric-memory/fig9": 29,
    "geometric-memory/table1": 0.7,
    "identity-bridge/fig3": 0.7,
    "identity-bridge/fig4": 0.1,
    "identity-bridge/fig5": 0.1,
    "identity-bridge/theory": 0.9,
    "out-of-context/implication": 17,
    "reversal-curse/told-reversals": 15,
}
