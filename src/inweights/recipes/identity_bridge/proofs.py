"""The proofs of Identity Bridge (§4.3, App. A): what each step computes, and what it claims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any

import polars as pl

from inweights import lab
from inweights.recipes.identity_bridge.common import PAPER
from inweights.theory import proof, proof_kkt

__all__ = ["CLAIMS", "computations", "ours", "state"]


def computations(
    sizes: Sequence[int], small: Sequence[int], worlds: Sequence[tuple[int, int]]
) -> list[lab.Computation]:
    """Return every step at every size.

    Args:
        sizes: ``n`` at which the steps of the proofs are checked.
        small: ``n`` of what is computed on whole matrices.
        worlds: ``n`` and complexity of each full program that is solved.
    """
    one_size: dict[str, Callable[..., pl.DataFrame]] = {
        "with": proof.with_identity,
        "without": proof.without,
        "point": proof.point_42,
        "kkt": proof_kkt.at_optimum,
    }
    return [
        *(
            lab.Computation(name=name, labels={"n": n}, compute=compute, options={"n": n})
            for name, compute in one_size.items()
            for n in sizes
        ),
        *(
            lab.Computation(
                name="random",
                labels={"n": n},
                compute=proof_kkt.at_random,
                options={"n": n},
                seeded=True,
            )
            for n in small
        ),
        *(
            lab.Computation(
                name=name,
                labels={"n": n, "identity": identity},
                compute=compute,
                options={"n": n, "identity": identity},
                seeded=name == "averaging",
            )
            for name, compute in (("averaging", proof.averaging), ("proof", proof.certificate))
            for n in small
            for identity in (True, False)
        ),
        *(
            lab.Computation(
                name="full",
                labels={"n": n, "identity": identity, "complexity": complexity},
                compute=proof.full_program,
                options={"n": n, "complexity": complexity, "identity": identity},
            )
            for identity, (n, complexity) in product((True, False), worlds)
        ),
    ]


#: What a solver leaves of nought, and what rounding does.
ZERO, ROUNDING = 1e-6, 1e-9


# The numbers of inweights.theory.proof and proof_kkt, each computed at every n.
given, without, point_42, kkt, random = (
    lab.computed(table, "value").over("n")
    for table in ("with", "without", "point", "kkt", "random")
)
averaging, whole, full = (
    lab.computed(table, "value").over("n", "identity") for table in ("averaging", "proof", "full")
)

state = PAPER.stating("theory", "§4.3")
ours = partial(state, source="ours")


def step(name: str, place: str, judged: lab.Judged, **more: Any) -> partial[lab.Claim]:
    """Return the claim of a step of a proof, but for its sentence."""
    return partial(state, name, judged=judged, place=place, **more)


#: The proofs (App. A), one claim for each step.
STEPS = {
    "With identity every composition has a positive margin at the optimum.": step(
        "theorem-1", "Thm 1", given.at(check="thm 1") >= 1e-3
    ),
    "Without identity every composition has a negative margin at the optimum.": step(
        "theorem-2", "Thm 2", without.at(check="thm 2") <= -1e-3
    ),
    "Averaging over permutations does not raise the norm (relative change).": step(
        "lemma-1-norm", "Lemma 1, Lemma 4", averaging.at(check="norm") <= ROUNDING
    ),
    "Averaging over permutations does not lower the least margin.": step(
        "lemma-1-margin", "Lemma 1, Lemma 4", averaging.at(check="margin") >= -ROUNDING
    ),
    "The constraints (4), (5) are those of program (2): same optimum.": step(
        "lemma-1-constraints", "Lemma 1", given.at(check="lemma 1") <= ZERO
    ),
    "The closed form (7) is the nuclear norm (relative error).": step(
        "lemma-2", "Lemma 2", random.at(check="lemma 2") <= ROUNDING
    ),
    (
        "A solution of a form other than (3) has rows that do not sum to 0: from a random start "
        "the solver comes to the form (3) itself (relative distance)."
    ): step("assumption-1", "Assumption 1", full.at(complexity=1, check="distance") <= 1e-3),
    (
        "The logits of every row of every optimum sum to 0: the part of (1, …, 1) in the space "
        "that the multipliers leave to the rows."
    ): step("assumption-2", "Assumption 2", whole.at(check="assumption 2") <= ROUNDING),
    "Problem (8) has the optimum of program (2) (relative difference).": step(
        "lemma-3", "Lemma 3", given.at(check="lemma 3") <= ZERO
    ),
    (
        "Problem (11) at t = |u| is the nuclear norm of the matrix, wherever rows sum to 0 "
        "(relative error)."
    ): step("proposition-1-value", "Prop. 1", random.at(check="prop 1") <= ROUNDING),
    (
        "Problem (11) grows with t, by (n-1)/√M1 (relative slope), so that t = |u| at its optimum."
    ): step(
        "proposition-1-slope", "Prop. 1", random.at(check="prop 1 growth").within(0.999, 1.001)
    ),
    "At the optimum a1 + n a2 = e (20).": step(
        "proposition-2", "Prop. 2", given.at(check="prop 2").within(-ZERO, ZERO)
    ),
    "Along (22), (23), with Δa2 = +αε/n, M2 and h1 stay as they are (change over ε).": step(
        "proposition-3-23", "Prop. 3, (23)", random.at(check="(23)") <= 1e-4
    ),
    "Along it M1 changes by (24) (relative error).": step(
        "proposition-3-24", "Prop. 3, (24)", random.at(check="(24)") <= 1e-5
    ),
    "Along it the objective falls: change over (n-1) α (a1 + c1 d1 / b1) ε.": step(
        "proposition-3-descent", "Prop. 3", random.at(check="(25) sign") <= -1e-3
    ),
    "It falls by (25) as printed (relative error).": step(
        "proposition-3-25", "Prop. 3, (25)", random.at(check="(25) printed") <= 1e-5
    ),
    "It falls by (25) divided by √M1 (relative error).": step(
        "25-corrected", "Prop. 3, (25)", random.at(check="(25)") <= 1e-5, source="ours"
    ),
    "At the optimum g1 is tight: a1 = 1 (12).": step(
        "proposition-4-g1", "Props. 3, 4", given.at(check="(12) a1").within(-ZERO, ZERO)
    ),
    "At the optimum g2 is tight (12).": step(
        "proposition-4-g2", "Props. 3, 4", given.at(check="(12) g2").within(-ZERO, ZERO)
    ),
    "Case 1 (e = 0) violates g2: the slack of the matrix (27).": step(
        "proposition-4-27", "Prop. 4, (27)", kkt.at(check="(27)") <= -1e-3
    ),
    "The conditions (28) hold with multipliers in closed form (relative residual).": step(
        "proposition-4-28", "Prop. 4, (28)", kkt.at(check="(28)") <= ROUNDING
    ),
    "Case 2 is excluded: the multiplier of g1 is positive (over n - 1).": step(
        "proposition-4-case-2", "Prop. 4, (29)-(32)", kkt.at(check="case 2") >= 1e-3
    ),
    "(33) cannot hold: its right side over its left, over √n.": step(
        "proposition-4-33", "Prop. 4, (33)", kkt.at(check="(33)") >= 1.0
    ),
    "The object's side beats the bridge's: (13), and so (15) to (17).": step(
        "conditions-13-17", "(13)-(17)", given.at(check="(13)") >= 1e-3
    ),
    "The margin (14) is that of the matrix, at random points (relative error).": step(
        "condition-14", "(14)", random.at(check="(14)") <= ROUNDING
    ),
    "f ≤ -1, by (18).": step("condition-19", "(18), (19)", given.at(check="(19)") <= ZERO),
    "The optimum of (11) satisfies the KKT conditions: the least multiplier (over n - 1).": step(
        "assumption-3", "Assumption 3", kkt.at(check="(28) sign") >= -ROUNDING
    ),
    "c1 is positive at the optimum.": step(
        "assumption-4-c1", "Assumption 4", given.at(check="assumption 4 c1") >= 1e-3
    ),
    "All parameters are Θ(1): a2 does not vanish as n grows.": step(
        "assumption-4-order", "Assumption 4", given.at(check="assumption 4 a2") >= 0.01
    ),
    "Averaging with τ gives the form (34) (distance to its own image under τ).": step(
        "lemma-4-swap", "Lemma 4", averaging.at(identity=False, check="form") <= ROUNDING
    ),
    "Problem (36) has the optimum of program (2): relative shortfall.": step(
        "lemma-4-constraints", "Lemma 4, (35)-(37)", without.at(check="lemma 4") <= ZERO
    ),
    "At the optimum of (36), |b1| ≤ a1.": step(
        "step-1", "Thm 2, step 1", without.at(check="step 1") <= ZERO
    ),
    "At the optimum of (36) the own object's constraint has no multiplier (over n - 1).": step(
        "condition-39", "(39)", without.at(check="(39)") <= 1e-5
    ),
    "At the optimum of (36) a1 ≥ 1 has the multiplier 2 (n-1) (relative error).": step(
        "condition-41", "(41)", without.at(check="(41)").within(-1e-5, 1e-5)
    ),
    "At the optimum of (36), a1 + n a2 = 0 and α = 0 (40), (43), (44).": step(
        "conditions-43-44", "(40), (43), (44)", without.at(check="(43)") <= 1e-4
    ),
    "The point (42) satisfies problem (36), that is (37): its least slack.": step(
        "point-42-in-37", "Thm 2, step 3", point_42.at(check="(37)") >= -ROUNDING
    ),
    "The point (42) has the value 2 (n-1) (difference).": step(
        "point-42-value", "Thm 2, step 3", point_42.at(check="norm").within(-ROUNDING, ROUNDING)
    ),
    "The point (42) satisfies program (2): its least slack.": step(
        "point-42-in-2", "Thm 2, step 3", point_42.at(check="(2)") >= -ROUNDING
    ),
    "b1 + b2 < a1 + a2 at the optimum without identity (38).": step(
        "condition-38", "(38)", without.at(check="(38)") <= -1e-3
    ),
    "Problem (36) has many optima: b1 varies by at least a half.": step(
        "36-not-unique", "(36)", without.at(check="(36) range") >= 0.5, source="ours"
    ),
    "At the optimum the block of subjects and bridges has rank one: t = 0.": step(
        "rank-one", "Assumption 4", given.at(check="assumption 4 t") <= ROUNDING, source="ours"
    ),
    "There the active gradients of (11) are dependent.": step(
        "regularity", "Assumption 3", kkt.at(check="licq") >= 1.0, source="ours"
    ),
    (
        "All active constraints of (11) can be left at once (MFCQ), so that "
        "Assumption 3 is a theorem."
    ): step("multipliers-exist", "Assumption 3", kkt.at(check="mfcq") >= 1e-3, source="ours"),
}


def proved(name: str, sentence: str, judged: lab.Judged) -> lab.Claim:
    """Return a claim of our proof of the closed form."""
    return ours(name, sentence, judged, place="Thms 1, 2")


#: Our proof of the closed form, each condition on whole matrices.
PROOF = (
    proved(
        "closed-form",
        "The optima are those in closed form: relative excess over the bound of a solver.",
        given.at(check="closed form") <= 1e-7,
    ),
    proved(
        "closed-form-without",
        "Without identity the optimum is 2 (n-1) + 1/√(n+1): excess over the bound of a solver.",
        without.at(check="closed form") <= 1e-7,
    ),
    proved(
        "proof-feasible", "They are feasible: least slack.", whole.at(check="feasible") >= -1e-12
    ),
    proved(
        "proof-dual",
        "Their multipliers are feasible: operator norm minus 1.",
        whole.at(check="operator norm") <= 1e-12,
    ),
    proved(
        "proof-gap",
        "Norm and sum of the multipliers are equal (relative gap).",
        whole.at(check="gap").within(-1e-12, 1e-12),
    ),
    proved(
        "proof-positive",
        "The multipliers are positive (times n): their constraints are tight at any optimum.",
        whole.at(check="least multiplier") >= 1e-2,
    ),
    proved(
        "proof-unique",
        "The tight constraints fix the optimum: there is one, so the theorems hold for any.",
        whole.at(check="unique") >= 1e-2,
    ),
    proved(
        "limit",
        "With identity the margin is above 1/√(2+√2) by less than 60/n: excess times n.",
        given.at(check="excess n").within(0.0, 60.0),
    ),
)

CLAIMS = (
    *(claim(text=sentence) for sentence, claim in STEPS.items()),
    *PROOF,
    state(
        "symmetric-is-full",
        "The full program (2), solved from a random start, has the optimum of its symmetric form "
        "(relative difference).",
        full.at(complexity=1, check="symmetric") <= 1e-4,
        place="Lemma 1, Lemma 4",
    ),
)
