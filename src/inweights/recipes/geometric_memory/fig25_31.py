"""Figures 25 to 31 of Geometric Memory: what makes the memory of a cycle geometric."""

from functools import partial
from itertools import product

import polars as pl

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.errors import check_names
from inweights.experiments import (
    Curriculum,
    Measure,
    Plan,
    Trial,
    cosine,
    number,
    share,
)
from inweights.models.configs import TinyNNConfig
from inweights.recipes.geometric_memory import common as gm
from inweights.recipes.geometric_memory.derived import judged
from inweights.recipes.shared.derived import beside_chance
from inweights.training.curriculum import Precision
from inweights.worlds.families.graphs.graph import Graph

CHANCE = "random vectors"


class Ablation(iw.Config):
    """Settings of one training run of TinyNN on the cycle.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        rate: Learning rate of AdamW; by default 0.01.
        unit_normal: Whether embeddings are initialised from N(0, 1) instead of N(0,
            .02²); by default false.
        weight_decay: Weight decay of AdamW; by default 0.
        dropout: Dropout rate of the middle layer; by default 0.
        self_edges: Whether every node has an edge to itself; by default false.
    """

    rate: float = 1e-2
    unit_normal: bool = False
    weight_decay: float = 0.0
    dropout: float = 0.0
    self_edges: bool = False


LOOPS = "self-edges, rate .01"
DEFAULT = "GPT start, rate .01"
SLOW = "GPT start, rate .0001"
UNIT = "unit normal, rate .0001"
FAST = "unit normal, rate .1"
DECAY = "unit normal, weight decay 10"
DROPOUT = "unit normal, dropout .4"
KEPT = "unit normal, rate .001"
#: Settings of Figures 25 to 31; the last one is ours, the control without dropout.
ABLATIONS: dict[str, Ablation] = {
    LOOPS: Ablation(self_edges=True),
    DEFAULT: Ablation(),
    SLOW: Ablation(rate=1e-4),
    UNIT: Ablation(rate=1e-4, unit_normal=True),
    FAST: Ablation(rate=0.1, unit_normal=True),
    DECAY: Ablation(rate=1e-4, unit_normal=True, weight_decay=10.0),
    DROPOUT: Ablation(rate=1e-3, unit_normal=True, dropout=0.4),
    KEPT: Ablation(rate=1e-3, unit_normal=True),
}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig25_31.toml``.

    Attributes:
        ablations: Names of the training runs, which are keys of ``ABLATIONS``.
        n: Number of nodes of the cycle, at least 3.
        width: Width of TinyNN, at least 1.
        steps: Number of updates of each training run.
        draws: Number of random embeddings from which each null distribution is
            estimated.
        conditions: Names of the conditions to use, any of ``the code's, bf16``, ``the
            code's`` and ``ours``. Claims are judged under ``the code's, bf16``.

    Raises:
        ConfigError: A name in ``ablations`` is unknown, or a value has the wrong type.
    """

    ablations: tuple[str, ...] = tuple(ABLATIONS)
    n: int = 15
    width: int = 512
    steps: int = 10_000
    draws: PositiveInt = 200
    conditions: tuple[str, ...] = gm.OF_PRECISION

    def __post_init__(self) -> None:
        check_names("ablation", self.ablations, ABLATIONS)


def plan(settings: Settings) -> Plan:
    """Plan the training runs of TinyNN on a cycle whose nodes are numbered in order.

    Args:
        settings: The recipe's settings, such as ``ablations``, ``n`` and ``width``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``setting`` (a key of :data:`ABLATIONS`, see
          :class:`Ablation`: self-edges, rate .01; GPT start, rate .01; GPT start, rate
          .0001; unit normal, rate .0001; unit normal, rate .1; unit normal, weight
          decay 10; unit normal, dropout .4; unit normal, rate .001) and ``condition``
          (the code's, bf16; the code's; ours).
        - Measures: ``recall`` (:func:`inweights.probes.graph_recall`), ``margin``
          (:func:`inweights.probes.edge_margin`), ``own_margin``
          (:func:`inweights.probes.geometric_margin` with ``draws=200``),
          ``correlation``
          (:func:`~inweights.probes.geometry.reference_graph.without_self_edges` applied
          to :func:`inweights.probes.hop_correlation` with ``draws=200``), ``energy``
          (:func:`~inweights.probes.geometry.reference_graph.without_self_edges` applied
          to :func:`inweights.probes.spectral_energy` with ``draws=200``), ``zigzag``
          (:func:`~inweights.probes.geometry.reference_graph.without_self_edges` applied
          to :func:`inweights.probes.zigzag` with ``draws=200``) and ``cosines``
          (:func:`inweights.probes.cosines`; only for the first seed).

        ``condition`` is ``the code's`` (the settings of the paper's code), ``the
        code's, bf16`` (the same in emulated bfloat16) or ``ours`` (our own, simpler
        vocabulary and initialisation).

    Raises:
        ConfigError: A condition is unknown, ``n`` is below 3, ``steps`` is negative, or
            ``width`` is not between 1 and 65,536.
    """
    from inweights.probes.geometry.reference_graph import without_self_edges

    draws = {"draws": settings.draws}
    # Recall and margin are those of the trained edges. All other probes see the graph
    # without self-edges.
    seen = partial(Measure, probe=without_self_edges)
    return Plan(
        trials=[
            _trial(name, condition, settings)
            for name, condition in product(settings.ablations, settings.conditions)
        ],
        measures=[
            Measure(name="recall", probe=iw.probes.graph_recall),
            Measure(name="margin", probe=iw.probes.edge_margin),
            Measure(name="own_margin", probe=iw.probes.geometric_margin, options=draws),
            seen(
                name="correlation",
                options={"inner": iw.probes.hop_correlation, **draws},
            ),
            seen(name="energy", options={"inner": iw.probes.spectral_energy, **draws}),
            seen(name="zigzag", options={"inner": iw.probes.zigzag, **draws}),
            Measure(name="cosines", probe=iw.probes.cosines, first_seed=True),
        ],
    )


def _trial(name: str, condition: str, settings: Settings) -> Trial:
    one = ABLATIONS[name]
    optimizer = iw.Optimizer(
        rate=one.rate, weight_decay=one.weight_decay, decayed="all"
    )
    precision: Precision = "bf16-emulated" if condition == gm.BF16 else "fp32"
    phase = iw.Phase(
        steps=settings.steps, pooled=True, optimizer=optimizer, precision=precision
    )
    told = gm.vocabulary_of(condition)
    std = 1.0 if one.unit_normal else None
    return Trial(
        labels={"setting": name, "condition": condition},
        world=Graph(
            shape="cycle",
            n=settings.n,
            self_edges=one.self_edges,
            shuffled=False,
            **told,
        ),
        model=TinyNNConfig(
            width=settings.width, embedding_std=std, dropout=one.dropout
        ),
        learner=Curriculum(phases=(phase,)),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return three measures of geometry for every run, compared with random vectors.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``recall`` (:func:`inweights.probes.graph_recall`: ``recall,
            worst, recall_others, accuracy, ceiling, loss, floor``), ``margin``
            (:func:`inweights.probes.edge_margin`: ``rivals, over, margin, worst,
            positive``), ``own_margin`` (:func:`inweights.probes.geometric_margin`:
            ``over, margin, worst, positive, null_positive, null_worst, null_all, p``),
            ``correlation``
            (:func:`~inweights.probes.geometry.reference_graph.without_self_edges`
            applied to :func:`inweights.probes.hop_correlation`: ``spearman, null_mean,
            null_low, null_high, p``), ``energy``
            (:func:`~inweights.probes.geometry.reference_graph.without_self_edges`
            applied to :func:`inweights.probes.spectral_energy`: ``space, eigenvalue,
            size, energy, cumulative, degenerate, null_mean, null_low, null_high``),
            ``zigzag``
            (:func:`~inweights.probes.geometry.reference_graph.without_self_edges`
            applied to :func:`inweights.probes.zigzag`: ``zigzag, bottom, null_mean,
            null_low, null_high, bottom_null``), and ``cosines``
            (:func:`inweights.probes.cosines`: ``source, target, hops, cosine``). All
            have the columns ``setting, condition, seed``. The labels are ``setting`` (a
            key of :data:`ABLATIONS`, see :class:`Ablation`: self-edges, rate .01; GPT
            start, rate .01; GPT start, rate .0001; unit normal, rate .0001; unit
            normal, rate .1; unit normal, weight decay 10; unit normal, dropout .4; unit
            normal, rate .001) and ``condition`` (``the code's, bf16``: trained as in
            the paper's code, in emulated bfloat16; ``the code's``: in fp32; ``ours``:
            with a simpler vocabulary and initialisation). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        The measured tables, restricted to the condition ``the code's, bf16``, without
        the column ``condition``, and:

        - ``conditions``: a row per run in each condition, with Spearman's ρ between
          cosine similarity and distance in hops. Columns: all columns of
          ``correlation``, plus ``graph``.
        - ``correlation``: a row per run in the condition ``the code's, bf16``, with
          ``geometry`` (−ρ) and ``size`` (the absolute value of ρ). Columns: ``setting,
          seed, spearman, null_mean, null_low, null_high, p, geometry, size``.
        - ``correlations``: the rows of ``correlation``, and rows whose ``setting`` is
          ``random vectors``. Columns: as in ``correlation``, plus ``graph``.
        - ``margins``: a row per run in each condition and value of ``neighbour``
          (``largest neighbour`` or ``smallest neighbour``, by logit), with the margin
          of this neighbour over other nodes. Columns: all columns of ``margin``, plus
          ``neighbour``.
        - ``zigzags``: a row per run: the share of the energy in the eigenspaces of
          negative eigenvalues (``zigzag``). Columns: ``setting, seed, zigzag, bottom,
          null_mean, null_low, null_high, bottom_null``.
        - ``spectra``: a row per run and eigenspace (``number``, from 1), with its
          energy. Columns: ``setting, seed, space, eigenvalue, size, energy, cumulative,
          degenerate, null_mean, null_low, null_high, number, model``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    conditions = tables["correlation"].with_columns(graph=pl.lit("cycle"))
    every = tables["margin"].filter(pl.col("rivals") == "nodes")
    tables = judged(tables, gm.BF16)
    correlation = tables["correlation"].with_columns(
        geometry=-pl.col("spearman"), size=pl.col("spearman").abs()
    )
    with_chance = beside_chance(
        correlation, "spearman", "null_mean", label="setting", name=CHANCE
    )
    neighbours = {"max": "largest neighbour", "min": "smallest neighbour"}
    margins = every.with_columns(neighbour=pl.col("over").replace_strict(neighbours))
    return tables | {
        "conditions": conditions,
        "correlation": correlation,
        "correlations": with_chance.with_columns(graph=pl.lit("cycle")),
        "margins": margins,
        "zigzags": tables["zigzag"],
        "spectra": tables["energy"].with_columns(
            number=pl.col("space") + 1, model=pl.lit(gm.NN)
        ),
    }


geometry = cosine("correlation", "geometry")
size = share("correlation", "size")
margin = number("margins", "margin", condition=gm.BF16)
positive = share("margins", "positive", over="min", condition=gm.BF16)
bottom = share("zigzags", "bottom")


SCORES = {
    "edges-are-stored": share("recall", "recall").over("setting") >= 0.99,
    "gpt-start-is-geometric-max": margin.at(setting=DEFAULT, over="max") >= 0.0,
    "gpt-start-is-geometric-min": margin.at(setting=DEFAULT, over="min") >= 0.0,
    "unit-normal-is-associative": size.at(setting=UNIT) <= 0.2,
    "unit-normal-has-no-margin": margin.at(setting=UNIT, over="min") <= 0.0,
    "self-edges-smooth": bottom.at(setting=LOOPS) - bottom.at(setting=DEFAULT) <= -0.1,
}
#: Claims that a setting makes the storage more geometric by both measures, each with
#: the setting and its control.
HELPS = {
    "self-edges-help": (LOOPS, DEFAULT),
    "gpt-start-helps": (SLOW, UNIT),
    "rate-helps-gpt-start": (DEFAULT, SLOW),
    "rate-helps-unit-normal": (FAST, UNIT),
    "weight-decay-helps": (DECAY, UNIT),
    "dropout-helps": (DROPOUT, KEPT),
}
for name, (more, less) in HELPS.items():
    SCORES[name] = geometry.at(setting=more) - geometry.at(setting=less) >= 0.0
    SCORES[f"{name}-margin"] = (
        positive.at(setting=more) - positive.at(setting=less) >= 0.0
    )
