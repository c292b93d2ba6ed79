"""The claims of the proofs of Identity Bridge (App. A), one for each step."""

from __future__ import annotations

from inweights.recipes.claim import Claim, Statement, Target
from inweights.recipes.identity_bridge.common import SOURCE

__all__ = ["NAME", "STEPS"]

NAME = "identity-bridge/theory"
state = Statement(NAME, source=SOURCE, place="App. A")


def step(
    name: str, text: str, check: str, target: Target, place: str, *,
    table: str = "with", source: str | None = None,
) -> Claim:  # fmt: skip
    """A step of a proof, computed at every ``n``."""
    return state(
        name, text, target, table=table, column="value", where={"check": check}, each=("n",),
        exact=True, place=place, source=source,
    )  # fmt: skip


ZERO = Target(most=1e-6)

STEPS = (
    step(
        "theorem-1", "With identity every composition has a positive margin at the optimum.",
        "thm 1", Target(least=1e-3), "Thm 1",
    ),
    step(
        "theorem-2", "Without identity every composition has a negative margin at the optimum.",
        "thm 2", Target(most=-1e-3), "Thm 2", table="without",
    ),
    step(
        "lemma-1-norm", "Averaging over permutations does not raise the norm (relative change).",
        "norm", Target(most=1e-9), "Lemma 1, Lemma 4", table="averaging",
    ),
    step(
        "lemma-1-margin", "Averaging over permutations does not lower the least margin.",
        "margin", Target(least=-1e-9), "Lemma 1, Lemma 4", table="averaging",
    ),
    step(
        "lemma-1-constraints", "The constraints (4), (5) are those of program (2): same optimum.",
        "lemma 1", ZERO, "Lemma 1",
    ),
    step(
        "lemma-2", "The closed form (7) is the nuclear norm (relative error).",
        "lemma 2", Target(most=1e-9), "Lemma 2", table="lemma_2",
    ),
    step(
        "assumption-2", "At the optimum with identity the logits of every row sum to 0.",
        "assumption 2", ZERO, "Assumptions 1, 2",
    ),
    step(
        "lemma-3", "Problem (8) has the optimum of program (2) (relative difference).",
        "lemma 3", ZERO, "Lemma 3",
    ),
    step(
        "proposition-1", "Problem (11) at t = |u| has the value of (8) (relative difference).",
        "prop 1", Target(most=1e-9), "Prop. 1",
    ),
    step(
        "proposition-2", "At the optimum a1 + n a2 = e (20).",
        "prop 2", Target(least=-1e-6, most=1e-6), "Prop. 2",
    ),
    step(
        "proposition-4-g1", "At the optimum g1 is tight: a1 = 1 (12).",
        "(12) a1", Target(most=1e-4), "Props. 3, 4",
    ),
    step(
        "proposition-4-g2", "At the optimum g2 is tight (12).",
        "(12) g2", Target(most=1e-3), "Props. 3, 4",
    ),
    step(
        "conditions-13-17", "The object's side beats the bridge's: (13), and so (15) to (17).",
        "(13)", Target(least=1e-3), "(13)-(17)",
    ),
    step(
        "condition-14", "The margin of a composition is that of (14).",
        "(14)", Target(least=-1e-9, most=1e-9), "(14)",
    ),
    step("condition-19", "f ≤ -1, by (18).", "(19)", Target(most=1e-4), "(18), (19)"),
    step(
        "assumption-3", "The optimum of (11) satisfies the KKT conditions (relative residual).",
        "assumption 3", Target(most=1e-3), "Assumption 3",
    ),
    step(
        "assumption-4-c1", "c1 is positive at the optimum.",
        "assumption 4 c1", Target(least=1e-3), "Assumption 4",
    ),
    step(
        "assumption-4-order", "All parameters are Θ(1): a2 does not vanish as n grows.",
        "assumption 4 a2", Target(least=0.01), "Assumption 4",
    ),
    step(
        "lemma-4-swap", "Without identity there is an optimum of the form (34).",
        "lemma 4 swap", ZERO, "Lemma 4", table="without",
    ),
    step(
        "lemma-4-constraints", "Problem (36) has the optimum of program (2): relative shortfall.",
        "lemma 4", ZERO, "Lemma 4, (35)-(37)", table="without",
    ),
    step(
        "step-1", "At the optimum of (36), |b1| ≤ a1.",
        "step 1", ZERO, "Thm 2, step 1", table="without",
    ),
    step(
        "conditions-43-44", "At the optimum of (36), a1 + n a2 = 0 and α = 0 (43), (44).",
        "(43)", Target(most=1e-4), "(39)-(44)", table="without",
    ),
    step(
        "point-42-feasible", "The point (42) satisfies program (2): its least slack.",
        "(2)", Target(least=-1e-9), "Thm 2, step 3", table="point",
    ),
    step(
        "condition-38", "b1 + b2 < a1 + a2 at the optimum without identity (38).",
        "(38)", Target(most=-1e-3), "(38)", table="without",
    ),
    step(
        "unique-margin", "With identity all optima have one margin: how far it varies.",
        "margin range", Target(most=1e-2), "Thm 1", source="ours",
    ),
    step(
        "36-not-unique", "Problem (36) has many optima: b1 varies by at least a half.",
        "(36) range", Target(least=0.5), "(36)", table="without", source="ours",
    ),
    step(
        "regularity", "At the optimum t = 0: the active gradients of (11) are dependent.",
        "licq", Target(least=1.0), "Assumption 3", source="ours",
    ),
    step(
        "multipliers-exist", "All active constraints of (11) can be left at once (MFCQ), so that "
        "Assumption 3 is a theorem.",
        "mfcq", Target(least=1e-3), "Assumption 3", source="ours",
    ),
    step(
        "closed-form", "Without identity the optimum is 2 (n-1) + 1/√(n+1), the margin -n/(n+1).",
        "closed form", Target(most=1e-7), "Thm 2", table="without", source="ours",
    ),
)  # fmt: skip
