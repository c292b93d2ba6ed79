"""Section 3.2, C.3 (item 3) of Geometric Memory: models with frozen embeddings fit edges too."""

from dataclasses import replace
from functools import partial
from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import check_size
from inweights.config.ranges import NonNegativeInt
from inweights.experiments import (
    Curriculum,
    Judged,
    Measure,
    Plan,
    Trial,
    cosine,
    number,
    share,
)
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import far_correlation, judged
from inweights.recipes.shared.derived import at_the_end, first_step
from inweights.worlds.families.graphs.graph import Graph

RUN = ["graph", "architecture", "embeddings", "seed"]
MODELS = (gm.GPT, gm.SSM, gm.NN)
FREE = "free"
FROZEN = "frozen"
#: TinyNN with the width that §3.2 uses for its proofs.
WIDE = "TinyNN, wide"
#: TinyNN with the widths of TinyGPT, at the learning rates that B.2 specifies for the
#: associative variant.
OWN_RATE = "TinyNN, own rate"


class Settings(iw.Config):
    """Settings of the recipe, with defaults for fields that a scale does not set.

    Values of the scales are in ``c3.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        graphs: Names of the tiny graphs to use, any of ``path-star``, ``grid``,
            ``cycle`` and ``irregular``.
        architectures: Names of architectures to train, any of ``TinyGPT``, ``TinySSM``
            and ``TinyNN``.
        most: Maximum number of updates per training run. If ``None`` (the default) or
            0, the paper's number is used.
        conditions: Names of the conditions to use, any of ``the code's``, ``the code's,
            bf16`` and ``ours``. Claims are judged under ``the code's``.
        wide: Width of the wide TinyNN, at least 1. It is trained for the same number of
            updates as the narrow TinyNN on the grid.
        longer: Minimum number of updates of the TinyNN with frozen embeddings at the
            learning rate that appendix B.2 of the paper specifies. If the appendix
            specifies a larger number of updates, that number is used.
        looks: Approximate number of measurements during a training run, at least 1.
    """

    graphs: tuple[gm.Shape, ...] = gm.GRAPHS
    architectures: tuple[str, ...] = MODELS
    most: int | None = None
    conditions: tuple[str, ...] = gm.CONDITIONS
    wide: int = 512
    longer: NonNegativeInt = 2000
    looks: int = 50


def plan(settings: Settings) -> Plan:
    """Plan two training runs of every architecture: with trained and with frozen embeddings.

    Args:
        settings: The recipe's settings, such as ``graphs``, ``architectures`` and
            ``most``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``graph`` (path-star, grid, cycle, irregular),
          ``architecture`` (TinyGPT; TinySSM: a Mamba; TinyNN; ``TinyNN, wide``;
          ``TinyNN, own rate``: only with frozen embeddings, at the learning rate in
          the paper's appendix B.2), ``condition`` (the code's, ours), and
          ``embeddings`` (``free``: trained; ``frozen``).
        - Measures: ``cosines`` (:func:`inweights.probes.cosines`) and ``recall``
          (:func:`inweights.probes.graph_recall`; during training), which is measured in
          all runs at intervals that depend on the architecture.

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: ``looks`` is below 1, a name in ``architectures`` or ``conditions``
            is unknown, ``most`` is negative, or ``wide`` is not between 1 and 65,536.
    """
    check_size("looks", settings.looks)
    look = partial(Measure, name="recall", probe=iw.probes.graph_recall)
    trials = []
    measures = [Measure(name="cosines", probe=iw.probes.cosines)]
    made = gm.trials(
        settings.graphs,
        settings.architectures,
        settings.most,
        conditions=settings.conditions,
    )
    like = structs.replace(
        gm.training(gm.NN, "grid", most=settings.most), width=settings.wide
    )
    made += [
        gm.trial(like, Graph(shape=shape), condition, graph=shape, architecture=WIDE)
        for condition, shape in product(settings.conditions, settings.graphs)
    ]
    for free in made:
        every = max(1, free.learner.steps // settings.looks)
        measures.append(look(every=every, where=free.labels))
        trials += [_labelled(free, FREE), _labelled(_frozen(free), FROZEN)]
    alone = _at_its_own_rate(settings)
    every = max(1, settings.longer // 100)
    measures.append(look(every=every, where={"architecture": OWN_RATE}))
    return Plan(trials=trials + alone, measures=measures)


def _at_its_own_rate(settings: Settings) -> list[Trial]:
    """Return the trials of the frozen TinyNN with the settings of B.2, or with more updates."""
    trials = []
    for condition in settings.conditions:
        for shape in settings.graphs:
            how = gm.training(gm.FROZEN, shape, most=settings.most)
            how = structs.replace(how, steps=max(how.steps, settings.longer))
            world = Graph(shape=shape)
            made = gm.trial(how, world, condition, graph=shape, architecture=OWN_RATE)
            trials.append(_labelled(made, FROZEN))
    return trials


def _labelled(trial: Trial, embeddings: str) -> Trial:
    return replace(trial, labels={**trial.labels, "embeddings": embeddings})


def _frozen(trial: Trial) -> Trial:
    """Return the trial with frozen embeddings and all other settings unchanged."""
    assert isinstance(trial.learner, Curriculum)
    phases = (structs.replace(p, freezes=("tokens.*",)) for p in trial.learner.phases)
    return replace(trial, learner=Curriculum(phases=tuple(phases)))


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return final recall, the step at which recall reaches 1, and a rank correlation.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``graph, architecture,
            condition, embeddings, seed``. Accuracies and recall are fractions from 0 to
            1.

            - ``cosines``, from :func:`inweights.probes.cosines`, with the additional
              columns ``source, target, hops, cosine``.
            - ``recall``, from :func:`inweights.probes.graph_recall`, with the
              additional columns ``recall, worst, recall_others, accuracy, ceiling,
              loss, floor, step``.

            The labels are ``graph`` (path-star, grid, cycle, irregular),
            ``architecture`` (TinyGPT; TinySSM: a Mamba; TinyNN; ``TinyNN, wide``;
            ``TinyNN, own rate``: only with frozen embeddings, at the learning rate in
            the paper's appendix B.2), ``condition`` (``the code's``: trained as in the
            paper's code; ``ours``: with a simpler vocabulary and initialisation), and
            ``embeddings`` (``free``: trained; ``frozen``).

    Returns:
        The measured tables, restricted to the condition ``the code's`` (the settings of
        the paper's code), without the column ``condition``, and:

        - ``beside``: a row per run with frozen embeddings in each condition, at its
          last step, with ``recall``. Columns: all columns of ``recall``.
        - ``ends``: a row per run at its last step: ``recall``, ``loss``,
          ``above_floor`` (loss minus the smallest possible loss on the graph) and
          ``first``, the first step at which the recall is 1. Columns: ``graph,
          architecture, embeddings, seed, recall, worst, recall_others, accuracy,
          ceiling, loss, floor, step, above_floor, first``.
        - ``correlation``: a row per run: ``all`` and ``far``, Spearman's ρ between
          cosine similarity and distance in hops over all pairs and over pairs of nodes
          two or more hops apart; ``near``, the mean cosine at one hop minus the mean
          cosine at two hops; and ``drop``, the mean cosine at two hops minus the mean
          cosine at more hops (:func:`~.derived.far_correlation`). Columns: ``graph,
          architecture, embeddings, seed, all, far, near, drop``.
        - ``curves``: a row per run and step, except step 0, with recall and loss;
          ``panel`` names the architecture and the graph. Columns: ``graph,
          architecture, embeddings, seed, recall, worst, recall_others, accuracy,
          ceiling, loss, floor, step, above_floor, panel``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    ends = tables["recall"].filter(pl.col("embeddings") == FROZEN)
    beside = at_the_end(ends, ["condition", *RUN])
    tables = judged(tables)
    above = tables["recall"].with_columns(above_floor=pl.col("loss") - pl.col("floor"))
    stored = first_step(above, "recall", RUN, least=1.0)
    panel = pl.format("{}, {}", "architecture", "graph")
    return tables | {
        "beside": beside,
        "ends": at_the_end(above, RUN).join(stored, on=RUN),
        "correlation": far_correlation(tables["cosines"], RUN[:-1]),
        "curves": above.filter(pl.col("step") > 0).with_columns(panel=panel),
    }


recall = share("ends", "recall", embeddings=FROZEN).over("graph")
rho = cosine("correlation", "all").over("graph")
surer = number("ends", "above_floor").over("graph")

SCORES: dict[str, Judged] = {}
for name, short in (
    (gm.GPT, "tinygpt"),
    (gm.SSM, "tinyssm"),
    (gm.NN, "tinynn"),
    (WIDE, "wide"),
):
    free, frozen = (
        rho.at(architecture=name, embeddings=which) for which in (FREE, FROZEN)
    )
    SCORES |= {
        f"{short}-stores-frozen": recall.at(architecture=name) >= 0.99,
        f"{short}-is-geometric-free": free - frozen <= -0.1,
    }
SCORES["tinynn-stores-frozen"] = recall.at(architecture=OWN_RATE) >= 0.99
SCORES["tinynn-needs-its-rate"] = (
    recall.at(architecture=gm.NN).at(graph="irregular") <= 0.5
)
small_positions = share(
    "beside", "recall", architecture=gm.GPT, condition=gm.PLAIN
).over("graph")
SCORES["tinygpt-stores-frozen-with-small-positions"] = small_positions >= 0.99
for name in (gm.GPT, gm.SSM, WIDE):
    free, frozen = (
        surer.at(architecture=name, embeddings=which) for which in (FREE, FROZEN)
    )
    if name == WIDE:
        SCORES["wide-is-as-sure-frozen"] = frozen - free <= 0.05
    else:
        SCORES[f"{name.lower()}-is-less-sure-frozen"] = frozen - free >= 0.1
