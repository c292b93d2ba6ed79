"""The proofs of Identity Bridge (§4.3, App. A), step by step, and training held against them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import polars as pl

import inweights as iw
from inweights import lab
from inweights.config import Config, check_size
from inweights.models.configs import EmbMLPConfig, Init
from inweights.recipes.identity_bridge.common import PAPER
from inweights.theory import proof, proof_kkt
from inweights.training.curriculum import Optimizer, Phase
from inweights.worlds.two_hop import TwoHop

__all__ = ["RECIPE", "Settings"]

#: Initial scale and weight decay of every kind of training.
TRAININGS = {
    "standard": (0.01, 0.0),
    "small initialisation": (0.001, 0.0),
    "large initialisation": (0.3, 0.0),
    "weight decay": (0.01, 1e-4),
}


class Settings(Config):
    """Settings of the theory.

    Attributes:
        sizes: ``N`` at which the steps of the proofs are checked.
        full: ``N`` at which the full program is held against the symmetric one.
        ties: ``N`` of the worlds of higher complexity.
        complexities: Their complexities.
        trained: ``N`` of the worlds that are trained.
        steps: Updates of every training.
        every: Updates between two looks at its direction.
        rate: Learning rate.
        width: Width of Emb-MLP.
    """

    sizes: tuple[int, ...] = (5, 10, 100, 1000, 10_000)
    full: tuple[int, ...] = tuple(range(3, 13))
    ties: int = 20
    complexities: tuple[int, ...] = (2, 3, 4, 5)
    trained: int = 10
    steps: int = 20_000
    every: int = 500
    rate: float = 1.0
    width: int = 64

    def __post_init__(self) -> None:
        for name in ("sizes", "full"):
            for n in getattr(self, name):
                check_size(f"each of {name}", n, least=2, most=10**9)


def plan(settings: Settings) -> lab.Plan:
    """Every step at every size; then trainings with and without identity."""
    one_size: dict[str, Callable[..., pl.DataFrame]] = {
        "with": proof.with_identity,
        "without": proof.without,
        "point": proof.point_42,
        "kkt": proof_kkt.at_optimum,
    }
    worlds = [(n, 1) for n in settings.full] + [(settings.ties, c) for c in settings.complexities]
    computations = [
        *(
            lab.Computation(name=name, labels={"n": n}, compute=compute, options={"n": n})
            for name, compute in one_size.items()
            for n in settings.sizes
        ),
        *(
            lab.Computation(
                name="random",
                labels={"n": n},
                compute=proof_kkt.at_random,
                options={"n": n},
                seeded=True,
            )
            for n in settings.full
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
            for n in settings.full
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
    trials = []
    for identity, (training, (std, decay)) in product((True, False), TRAININGS.items()):
        descent = Optimizer(kind="sgd", rate=settings.rate, weight_decay=decay)
        trials.append(
            lab.Trial(
                labels={"identity": identity, "training": training},
                world=TwoHop(n=settings.trained, complexity=1, identity=identity),
                model=EmbMLPConfig(width=settings.width, init=Init(std=std)),
                learner=lab.Curriculum(phases=(Phase(steps=settings.steps, optimizer=descent),)),
            )
        )
    measures = [
        lab.Measure(name="directions", probe=iw.probes.direction, every=settings.every),
        lab.Measure(name="ends", probe=iw.probes.direction),
        lab.Measure(name="accuracy", probe=iw.probes.accuracy),
    ]
    return lab.Plan(trials=trials, measures=measures, computations=computations)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Margins over ``n`` for the figure, expected accuracy against 1/C, and whether signs agree."""
    shown = (("with", "thm 1", "with identity"), ("without", "thm 2", "without"))
    margins = [
        tables[table].filter(pl.col("check") == check).with_columns(identity=pl.lit(words))
        for table, check, words in shown
    ]
    expected = tables["full"].filter(
        pl.col("check") == "expected", pl.col("complexity") > 1, pl.col("identity")
    )
    # Where a fact is not known there is no margin: a not-a-number, which agrees with nothing.
    agreement = (pl.col("query_margin") * pl.col("expected")).fill_nan(0.0)
    given = pl.when("identity").then(pl.lit("with identity")).otherwise(pl.lit("without"))
    return {
        "margins": pl.concat(margins),
        "expected": expected.with_columns(excess=pl.col("value") - 1.0 / pl.col("complexity")),
        "ends": tables["ends"].with_columns(agrees=(agreement > 0).cast(pl.Float64)),
        "curves": tables["directions"].with_columns(condition=given),
    }


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

direction = lab.cosine("ends", "cosine")
standard, small, large, decay = (direction.at(training=training) for training in TRAININGS)

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
    ours(
        "ties-predict-one-over-c",
        "At C ≥ 2 the optimum ties or nearly ties: its expected accuracy minus 1/C.",
        lab.computed("expected", "excess").over("complexity").within(-0.02, 0.02),
        place="§4.1",
    ),
    state(
        "signs-agree",
        "Trained Emb-MLP has the sign of the margin that the optimum has.",
        lab.share("ends", "agrees").over("identity", "training") >= 0.999,
    ),
    state(
        "direction-with",
        "With identity the direction of W comes close to that of the optimum (cosine).",
        standard.at(identity=True) >= 0.95,
    ),
    state(
        "direction-without",
        "Without identity the direction of W comes as close (cosine).",
        standard.at(identity=False) >= 0.95,
    ),
    state(
        "norm-is-least",
        "Training finds the least norm: nuclear norm at a least margin of 1, over the optimum's.",
        lab.number("ends", "excess", training="standard").over("identity") <= 0.05,
    ),
    ours(
        "small-initialisation-closer",
        "A small initialisation ends closer to the optimum than a large one (cosine).",
        (small - large).over("identity") >= 0.0,
    ),
    ours(
        "decay-closer",
        "Weight decay ends closer to the optimum than none (cosine).",
        (decay - standard).over("identity") >= 0.0,
    ),
)

through_training = partial(
    lab.lines, x="step", series="training", facet="condition", x_label="steps of gradient descent"
)

FIGURES = (
    lab.lines(
        "margins",
        "margins",
        "The margin of compositions at the optimum, for any n",
        "Normalised: the facts have a margin of 1. With identity the margin falls to .541, that is "
        "1/√(2+√2), and stays there; without it is -n/(n+1).",
        x="n",
        y="value",
        series="identity",
        x_log=True,
        x_label="n, subjects and objects",
        y_label="margin of a composition",
    ),
    through_training(
        "direction",
        "curves",
        "Training turns towards the optimum",
        "Cosine of the trained W with the optimum of program (2), both centred by row (it "
        "starts at 0). Training comes close early, and then only slowly closer; weight decay "
        "closes more of the gap.",
        y="cosine",
        y_label="cosine with the optimum",
        y_limits=(0.8, 1.0),
    ),
    through_training(
        "training-margin",
        "curves",
        "The margin of compositions while Emb-MLP trains",
        "Median over the queries, normalised by the least margin of the facts, once that is "
        "positive. Dashed: the margin at the optimum.",
        y="query_margin",
        reference=("expected", "optimum"),
        y_label="margin of a composition",
        y_limits=(-1.5, 1.5),
    ),
)

RECIPE = PAPER.recipe(
    "theory",
    title="The proofs, step by step, and training against them",
    place="§4.3, Appendix A",
    summary=(
        "Takes the optimum of program (2) in closed form for n up to 10,000, checks our proof of "
        "it on whole matrices and each lemma, proposition, condition and assumption of the paper's "
        "proofs; solves the full program from random starts; then follows the direction of "
        "Emb-MLP's weights through training."
    ),
    scales={
        "smoke": Settings(
            sizes=(5, 50), full=(3,), ties=4, complexities=(2,), trained=4, steps=100, every=50
        ),
        "cpu": Settings(),
        "paper": Settings(sizes=(5, 10, 100, 1000, 10_000, 100_000), ties=50, steps=100_000),
    },
    seeds={"smoke": 2, "cpu": 5, "paper": 10},
    plan=plan,
    derive=derive,
    claims=CLAIMS,
    figures=FIGURES,
    version=2,
    ours=(
        "Emb-MLP: full-batch gradient descent, rate 1, width 64, N = 10, σ = .01, .001 and .3, "
        "weight decay 1e-4; the paper does not say how it compared training with the program.",
        "Program (2) is taken with all its constraints; the paper's (4), (35) and (37) leave out "
        "the one against other objects.",
    ),
)
