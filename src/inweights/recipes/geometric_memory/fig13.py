"""Figure 13 of Geometric Memory: the path-star in context, where next-token training fails."""

from itertools import product
from typing import Literal

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Curriculum, Measure, Plan, Trial, cosine, share
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import learnt, token_names
from inweights.worlds.families.in_context import InContextStar

#: Names of the conditions: loss on every token of the path from the root, or on its
#: hardest token alone; the path from the goal; and the path from the root with its own
#: tokens hidden from the model.
NEXT = "next token"
FIRST = "first token alone"
REVERSE = "reverse path"
HIDDEN = "teacherless"
BLANK = "<blank>"
KEYS = ["graph", "condition", "seed"]
#: Accuracy at which a token counts as learnt, well above the 1/d of guessing.
LEARNT = 0.9
_PHASE = iw.learners.in_context_star().phases[0]


class InContextTraining(iw.Config):
    """Settings of a world whose graphs are given in the context, and of training on it.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        world: Config of the world; :meth:`trial` replaces its field ``reverse``.
        model: Config of the GPT.
        steps: Number of updates.
        batch: Number of prompts in each update; 0 for all.
        optimizer: Config of the optimizer.
        schedule: Schedule of the learning rate.
        precision: Precision of the training, ``fp32`` or ``bf16``.
    """

    world: InContextStar = InContextStar(
        arms=2, nodes=5, labels=12, trained=50_000, asked=500
    )
    model: iw.GPTConfig = iw.GPTConfig(
        layers=2,
        width=64,
        heads=4,
        context=32,
        init=iw.Init(std=0.05),
    )
    steps: int = 1000
    batch: int = 64
    optimizer: iw.Optimizer = _PHASE.optimizer
    schedule: iw.Schedule = _PHASE.schedule
    precision: Literal["fp32", "bf16"] = "fp32"

    @property
    def name(self) -> str:
        """Label of the graphs in the paper's notation, ``(arms, nodes)``."""
        return f"({self.world.arms}, {self.world.nodes})"

    def trial(self, condition: str) -> Trial:
        """Return the trial of one condition.

        Args:
            condition: ``next token`` (loss on every token of the path from the root),
                ``first token alone`` (loss only on the first token after the root,
                which is the hardest), ``reverse path`` (loss on the path from the goal
                to the root) or ``teacherless`` (the tokens of the path are hidden from
                the model). Any other name is treated as ``next token`` and used as the
                label.

        Returns:
            The trial, with the labels ``graph``, ``arms`` and ``condition``.

        Raises:
            ConfigError: A number of updates or prompts is negative, or ``world`` cannot
                be reversed.
        """
        hidden = condition == HIDDEN
        phase = iw.Phase(
            name=condition,
            steps=self.steps,
            batch=self.batch,
            loss=(1,) if condition == FIRST else "answer",
            teacherless=BLANK if hidden else "",
            optimizer=self.optimizer,
            schedule=self.schedule,
            precision=self.precision,
        )
        return Trial(
            labels={
                "graph": self.name,
                "arms": self.world.arms,
                "condition": condition,
            },
            world=structs.replace(self.world, reverse=condition == REVERSE),
            model=self.model,
            learner=Curriculum(phases=(phase,)),
        )


#: Settings for three arms. A prompt contains all 9 edges, which use all 10 labels.
_THREE = InContextTraining(
    world=InContextStar(
        arms=3,
        nodes=4,
        labels=10,
        trained=50_000,
        asked=500,
    ),
    model=iw.GPTConfig(
        layers=2,
        width=64,
        heads=4,
        context=40,
        init=iw.Init(std=0.05),
    ),
    steps=2000,
    optimizer=iw.Optimizer(rate=1e-3, decayed="all"),
)
#: Settings for training without teacher forcing. The model predicts the whole arm at
#: once, which needs one layer per edge, so that the arms are shorter.
_HIDDEN = InContextTraining(
    world=InContextStar(
        arms=2,
        nodes=3,
        labels=12,
        trained=50_000,
        asked=500,
    ),
    model=iw.GPTConfig(
        layers=4,
        width=64,
        heads=4,
        context=24,
        init=iw.Init(std=0.05),
    ),
    steps=4000,
    optimizer=iw.Optimizer(rate=5e-4, decayed="all"),
)


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig13.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        stars: Graphs in context, each with its training settings, for the conditions
            with teacher forcing, in which the model reads the correct preceding tokens
            of the answer.
        hidden: Graphs in context, each with its training settings, for the teacherless
            condition.
        every: Number of steps between two points of the curves, at least 1.
    """

    stars: tuple[InContextTraining, ...] = (InContextTraining(), _THREE)
    hidden: tuple[InContextTraining, ...] = (_HIDDEN,)
    every: PositiveInt = 50


def plan(settings: Settings) -> Plan:
    """Plan training runs on graphs in context in every condition, measured token by token.

    Args:
        settings: The recipe's settings, such as ``stars``, ``hidden`` and ``every``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (the string ``(arms, nodes per path)``: (2,
          5); (3, 4); (2, 3)), ``arms`` (2, 3), and ``condition`` (``next token``: loss
          on the whole path; ``first token alone``: only on the first token after the
          root; ``reverse path``: on the path from the goal; ``teacherless``: the path
          is hidden from the model).
        - Measure: ``paths`` (:func:`inweights.probes.path_accuracy`; during training).

    Raises:
        ConfigError: ``every``, a number of updates or a number of prompts is negative.
    """
    pairs = [
        (star, how) for star, how in product(settings.stars, (NEXT, FIRST, REVERSE))
    ]
    pairs += [(star, HIDDEN) for star in settings.hidden]
    trials = [star.trial(how) for star, how in pairs]
    measures = [
        Measure(
            name="paths",
            probe=iw.probes.path_accuracy,
            every=settings.every,
            where={"condition": how},
            options={"most": 500, "teacherless": BLANK if how == HIDDEN else ""},
        )
        for how in (NEXT, FIRST, REVERSE, HIDDEN)
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return curves for every token, final accuracies, and the step at which each token is learned.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``paths`` (:func:`inweights.probes.path_accuracy`) with the
            columns ``graph, arms, condition, seed, part, place, hardest, accuracy,
            exact, statements, chance, step``. The labels are ``graph`` (the string
            ``(arms, nodes per path)``: (2, 5); (3, 4); (2, 3)), ``arms`` (2, 3), and
            ``condition`` (``next token``, ``first token alone``, ``reverse path``,
            ``teacherless``). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``final``: a row per run: ``above``, the accuracy on the hardest token minus
          chance (1/d, where ``d`` is the number of arms); ``later``, the smallest
          accuracy of any token after it; ``exact``, the share of paths that are
          entirely correct; ``above_whole``, ``exact`` minus 1/d. Columns: ``graph,
          condition, seed, above, later, exact, above_whole``.
        - ``tokens``: a row per run, step and ``token`` of held-out paths, with its
          ``accuracy``; in the condition ``first token alone``, only the first token has
          rows. ``panel`` names the graph and the condition. Columns: all columns of
          ``paths``, plus ``token, panel``.
        - ``order``: a row per teacherless run: ``order``, the rank correlation between
          the places of the tokens and the steps at which their accuracies first reach
          :data:`LEARNT` (.9); it is −1 if tokens are learned from the last to the
          first; ``hardest`` and ``last``, this step for the first and the last token;
          ``lead``, ``last`` minus ``hardest``. The columns ``place`` and ``step``
          belong to one token of the run and are not used. Columns: ``graph, condition,
          seed, place, step, order, hardest, last, lead``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    place = pl.col("place")
    chance = pl.col("chance").first()
    held = tables["paths"].filter(pl.col("part") == "queries")
    held = held.with_columns(chance=1.0 / pl.col("arms"))
    final = at_the_end(held, KEYS).group_by(KEYS, maintain_order=True)
    reverse = pl.when(pl.col("condition") == REVERSE).then(
        pl.format("token {}", place + 1)
    )
    # With the loss on the hardest token alone, the model was not trained on the others.
    shown = held.filter((pl.col("condition") != FIRST) | (place == 1))
    when = learnt(held.filter(pl.col("condition") == HIDDEN), KEYS, LEARNT)
    return {
        "final": final.agg(
            above=pl.col("accuracy").filter(place == 1).mean() - chance,
            later=pl.col("accuracy").filter(place > 1).min(),
            exact=pl.col("exact").mean(),
            above_whole=pl.col("exact").mean() - chance,
        ),
        "tokens": shown.with_columns(
            token=reverse.otherwise(token_names()),
            panel=pl.format("{}, {}", "graph", "condition"),
        ),
        "order": when.unique(subset=KEYS, maintain_order=True),
    }


exact = share("final", "exact").over("graph")
above = cosine("final", "above").over("graph")

SCORES = {
    "first-token-at-chance": above.at(condition=NEXT).within(-0.1, 0.1),
    "clever-hans": exact.of("later").at(condition=NEXT) >= 0.95,
    "whole-path-at-chance": above.of("above_whole")
    .at(condition=NEXT)
    .within(-0.1, 0.1),
    "first-token-in-isolation": above.at(condition=FIRST) <= 0.1,
    "reverse-succeeds": exact.at(condition=REVERSE) >= 0.95,
    "teacherless-succeeds": exact.at(condition=HIDDEN) >= 0.95,
    "teacherless-cascade": cosine("order", "order").over("graph") <= -0.9,
}
