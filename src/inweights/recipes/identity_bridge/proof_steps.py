"""The claims of the proofs of Identity Bridge (App. A), one for each step."""

from __future__ import annotations

from inweights.lab import computed
from inweights.recipes.identity_bridge.common import PAPER

__all__ = ["STEPS"]

state = PAPER.stating("theory", "App. A")

# The numbers of inweights.theory.proof, each computed at every n.
with_identity = computed("with", "value").over("n")
without = computed("without", "value").over("n")
averaging = computed("averaging", "value").over("n")
lemma_2 = computed("lemma_2", "value").over("n")
point_42 = computed("point", "value").over("n")

#: What a solver leaves of nought.
ZERO = 1e-6

STEPS = (
    state(
        "theorem-1",
        "With identity every composition has a positive margin at the optimum.",
        with_identity.at(check="thm 1") >= 1e-3,
        place="Thm 1",
    ),
    state(
        "theorem-2",
        "Without identity every composition has a negative margin at the optimum.",
        without.at(check="thm 2") <= -1e-3,
        place="Thm 2",
    ),
    state(
        "lemma-1-norm",
        "Averaging over permutations does not raise the norm (relative change).",
        averaging.at(check="norm") <= 1e-9,
        place="Lemma 1, Lemma 4",
    ),
    state(
        "lemma-1-margin",
        "Averaging over permutations does not lower the least margin.",
        averaging.at(check="margin") >= -1e-9,
        place="Lemma 1, Lemma 4",
    ),
    state(
        "lemma-1-constraints",
        "The constraints (4), (5) are those of program (2): same optimum.",
        with_identity.at(check="lemma 1") <= ZERO,
        place="Lemma 1",
    ),
    state(
        "lemma-2",
        "The closed form (7) is the nuclear norm (relative error).",
        lemma_2.at(check="lemma 2") <= 1e-9,
        place="Lemma 2",
    ),
    state(
        "assumption-2",
        "At the optimum with identity the logits of every row sum to 0.",
        with_identity.at(check="assumption 2") <= ZERO,
        place="Assumptions 1, 2",
    ),
    state(
        "lemma-3",
        "Problem (8) has the optimum of program (2) (relative difference).",
        with_identity.at(check="lemma 3") <= ZERO,
        place="Lemma 3",
    ),
    state(
        "proposition-1",
        "Problem (11) at t = |u| has the value of (8) (relative difference).",
        with_identity.at(check="prop 1") <= 1e-9,
        place="Prop. 1",
    ),
    state(
        "proposition-2",
        "At the optimum a1 + n a2 = e (20).",
        with_identity.at(check="prop 2").within(-1e-6, 1e-6),
        place="Prop. 2",
    ),
    state(
        "proposition-4-g1",
        "At the optimum g1 is tight: a1 = 1 (12).",
        with_identity.at(check="(12) a1") <= 1e-4,
        place="Props. 3, 4",
    ),
    state(
        "proposition-4-g2",
        "At the optimum g2 is tight (12).",
        with_identity.at(check="(12) g2") <= 1e-3,
        place="Props. 3, 4",
    ),
    state(
        "conditions-13-17",
        "The object's side beats the bridge's: (13), and so (15) to (17).",
        with_identity.at(check="(13)") >= 1e-3,
        place="(13)-(17)",
    ),
    state(
        "condition-14",
        "The margin of a composition is that of (14).",
        with_identity.at(check="(14)").within(-1e-9, 1e-9),
        place="(14)",
        check=True,
    ),
    state(
        "condition-19",
        "f ≤ -1, by (18).",
        with_identity.at(check="(19)") <= 1e-4,
        place="(18), (19)",
    ),
    state(
        "assumption-3",
        "The optimum of (11) satisfies the KKT conditions (relative residual).",
        with_identity.at(check="assumption 3") <= 1e-3,
        place="Assumption 3",
    ),
    state(
        "assumption-4-c1",
        "c1 is positive at the optimum.",
        with_identity.at(check="assumption 4 c1") >= 1e-3,
        place="Assumption 4",
    ),
    state(
        "assumption-4-order",
        "All parameters are Θ(1): a2 does not vanish as n grows.",
        with_identity.at(check="assumption 4 a2") >= 0.01,
        place="Assumption 4",
    ),
    state(
        "lemma-4-swap",
        "Without identity there is an optimum of the form (34).",
        without.at(check="lemma 4 swap") <= ZERO,
        place="Lemma 4",
    ),
    state(
        "lemma-4-constraints",
        "Problem (36) has the optimum of program (2): relative shortfall.",
        without.at(check="lemma 4") <= ZERO,
        place="Lemma 4, (35)-(37)",
    ),
    state(
        "step-1",
        "At the optimum of (36), |b1| ≤ a1.",
        without.at(check="step 1") <= ZERO,
        place="Thm 2, step 1",
    ),
    state(
        "conditions-43-44",
        "At the optimum of (36), a1 + n a2 = 0 and α = 0 (43), (44).",
        without.at(check="(43)") <= 1e-4,
        place="(39)-(44)",
    ),
    state(
        "point-42-feasible",
        "The point (42) satisfies program (2): its least slack.",
        point_42.at(check="(2)") >= -1e-9,
        place="Thm 2, step 3",
    ),
    state(
        "condition-38",
        "b1 + b2 < a1 + a2 at the optimum without identity (38).",
        without.at(check="(38)") <= -1e-3,
        place="(38)",
    ),
    state(
        "unique-margin",
        "With identity all optima have one margin: how far it varies.",
        with_identity.at(check="margin range") <= 1e-2,
        place="Thm 1",
        source="ours",
    ),
    state(
        "36-not-unique",
        "Problem (36) has many optima: b1 varies by at least a half.",
        without.at(check="(36) range") >= 0.5,
        place="(36)",
        source="ours",
    ),
    state(
        "regularity",
        "At the optimum t = 0: the active gradients of (11) are dependent.",
        with_identity.at(check="licq") >= 1.0,
        place="Assumption 3",
        source="ours",
    ),
    state(
        "multipliers-exist",
        "All active constraints of (11) can be left at once (MFCQ), so that "
        "Assumption 3 is a theorem.",
        with_identity.at(check="mfcq") >= 1e-3,
        place="Assumption 3",
        source="ours",
    ),
    state(
        "closed-form",
        "Without identity the optimum is 2 (n-1) + 1/√(n+1), the margin -n/(n+1).",
        without.at(check="closed form") <= 1e-7,
        place="Thm 2",
        source="ours",
    ),
)
