"""Our experiment: in which settings do identities enable composition? A map of nine settings."""

from itertools import product

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config import apply_overrides
from inweights.config.ranges import PositiveInt
from inweights.errors import check_names
from inweights.experiments import Measure, Plan, Score, Trial, cosine, number, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared import derived

LABELS = ("axis", "value", "init", "world")
#: Names of the tables of the three heat maps, in the order of the worlds.
MAPS = ("map_c1", "map_harder", "map_without")
GAMMA = "small initialisation γ"

#: Values of each axis as figures show them, each with its changes of the base run,
#: which are separated by ``;``. A value without changes is the base run, which is
#: trained only once.
AXES: dict[str, dict[str, str]] = {
    "depth": {str(n): f"model.layers={n}" for n in (1, 2, 4, 6, 8, 12)},
    # The learning rate is inversely proportional to the width.
    "width": {
        str(n): f"model.width={n};phase.optimizer.rate={0.064 / n}"
        for n in (16, 32, 64, 128)
    },
    "positions": {
        "learned, random start": "",
        "learned, fixed start": "phase.random_offset=false",
        "sinusoidal": "model.positions=sinusoidal",
        "none": "model.positions=none;phase.random_offset=false",
    },
    "head": {"untied": "", "tied": "model.tied=true"},
    "rate": {v: f"phase.optimizer.rate={v}" for v in ("3e-4", "1e-3", "3e-3")},
    "warm-up": {str(n): f"phase.schedule.warmup={n}" for n in (0, 28, 140)},
    GAMMA: {str(g): f"model.init.gamma={g}" for g in (0.75, 1.0, 1.25, 1.5, 2.0)},
    "N": {str(n): f"world.n={n}" for n in (10, 20, 40)},
    "loss at": {"last position": "", "every position": "phase.loss=every"},
}


class _Run(iw.Config):
    """Settings of one run, which an axis changes in one respect."""

    world: iw.TwoHop
    model: iw.GPTConfig
    phase: iw.Phase


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``where_the_bridge_holds.toml``.

    Attributes:
        axes: Names of axes, keys of ``AXES`` (such as ``depth`` or ``width``); by
            default all.
        complexity: ``C``, the number of objects per subject (from 1 to ``n``), in the
            harder of the two worlds with identities. All other worlds have ``C = 1``.
        n: Number ``N`` of subjects and of objects, at least 2.
        every: Number of steps between measurements, at least 1.
        base: Settings of the base run. Each value on an axis replaces one of them, or a
            few that belong together.

    Raises:
        ConfigError: A name in ``axes`` is unknown, or a value has the wrong type.
    """

    axes: tuple[str, ...] = tuple(AXES)
    complexity: int = 2
    n: int = 20
    every: PositiveInt = 20
    base: ib.GPTTraining = ib.NARROW

    def __post_init__(self) -> None:
        check_names("axis", self.axes, AXES)


def plan(settings: Settings) -> Plan:
    """Plan training in three worlds, with two initialisations, for every value of each setting.

    Args:
        settings: The recipe's settings, such as ``axes``, ``complexity`` and ``n``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``axis`` and ``value`` (the setting that differs from
          the base run, and the label of its value: keys of :data:`AXES`), ``init``
          (initialisation: standard, small), and ``world`` (``C = 1`` and ``C = 2``,
          with identities; ``no identity``, C = 1; ``C`` is the number of objects per
          subject).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`; during training)
          and ``alignment`` (:func:`inweights.probes.alignment`; during training), every
          ``every`` steps.

    Raises:
        ConfigError: ``n`` is below 2, ``complexity`` is not between 1 and ``n``,
            ``every`` is negative, or a number of ``base`` is out of range.
    """
    base = settings.base
    n = settings.n
    harder = settings.complexity
    inits = {"standard": base.model.init, "small": iw.Init(gamma=base.small_gamma)}
    worlds = {
        "C = 1": iw.TwoHop(n=n, complexity=1),
        f"C = {harder}": iw.TwoHop(n=n, complexity=harder),
        "no identity": iw.TwoHop(n=n, complexity=1, identity=False),
    }
    trials = []
    for (init, drawn), (name, world), axis in product(
        inits.items(), worlds.items(), settings.axes
    ):
        if axis == GAMMA and init == "standard":
            continue  # this axis varies the initialisation itself
        start = _Run(
            world=world, model=structs.replace(base.model, init=drawn), phase=base.phase
        )
        for value, change in AXES[axis].items():
            run = apply_overrides(start, [part for part in change.split(";") if part])
            trials.append(
                Trial(
                    labels={
                        "axis": axis,
                        "value": value,
                        "init": init,
                        "world": name,
                    },
                    world=run.world,
                    model=run.model,
                    learner=iw.Curriculum(phases=(run.phase,)),
                )
            )
    measures = [
        Measure(name="accuracy", probe=iw.probes.accuracy, every=settings.every),
        Measure(name="alignment", probe=iw.probes.alignment, every=settings.every),
    ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the final accuracy along every axis, and how it is related to alignment.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``) and ``alignment`` (:func:`inweights.probes.alignment`:
            ``place, layer, depth, cosine, other, contrast, nearest``). Both have the
            columns ``axis, value, init, world, seed, step``. The labels are ``axis``
            and ``value`` (the setting that differs from the base run, and the label of
            its value: keys of :data:`AXES`), ``init`` (initialisation: standard,
            small), and ``world`` (``C = 1`` and ``C = 2``, with identities; ``no
            identity``, C = 1; ``C`` is the number of objects per subject). Accuracies
            and recall are fractions from 0 to 1.

    Returns:
        - ``map_c1``: the rows of ``final`` (see below) for the world ``C = 1``.
          Columns: all columns of ``accuracy``, plus ``contrast, nearest``.
        - ``map_harder``: the rows of ``final`` for the world with the larger ``C``.
          Columns: as in ``map_c1``.
        - ``map_without``: the rows of ``final`` for the world without identities.
          Columns: as in ``map_c1``.
        - ``final``: a row per run at its last step: accuracy on the compositions, and
          ``contrast`` and ``nearest`` of the alignment at the query (means over the
          blocks). Columns: as in ``map_c1``.
        - ``alignment_tells``: a row per world with identities and seed: Pearson's
          correlation between accuracy and contrast over the runs. Columns: ``world,
          seed, correlation``.
        - ``leads``: a row per run with identities whose accuracy is at least a half:
          the first steps at which the accuracy (``answered``) and ``nearest``
          (``aligned``) are half-way from their first values to their maxima, and
          ``lead``, which is ``answered`` minus ``aligned``. Columns: ``axis, value,
          init, world, seed, answered, aligned, lead``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    runs = [*LABELS, "seed"]
    keys = [*runs, "step"]
    with_identity = pl.col("world") != "no identity"
    at_answer = tables["alignment"].filter(pl.col("place") == "query")
    aligned = derived.over_blocks(at_answer, ("contrast", "nearest"), keys)
    curves = derived.compositions(tables["accuracy"]).join(aligned, on=keys)
    # Rows are sorted by axis and value, in the order of AXES.
    ranks: dict[str, int] = {}
    for axis, values in AXES.items():
        for value in values:
            ranks[f"{axis}/{value}"] = len(ranks)
    place = pl.concat_str("axis", pl.lit("/"), "value").replace_strict(ranks)
    curves = curves.sort(place, maintain_order=True)
    final = derived.at_the_end(curves, runs)
    answers, aligns = (
        derived.half_time(curves, column, runs) for column in ("accuracy", "nearest")
    )
    leads = (
        final.filter(with_identity, pl.col("accuracy") >= 0.5)
        .select(runs)
        .join(answers.rename({"half_time": "answered"}), on=runs)
        .join(aligns.rename({"half_time": "aligned"}), on=runs)
    )
    worlds = final["world"].unique(maintain_order=True)
    maps = zip(MAPS, worlds, strict=False)
    return {
        **{name: final.filter(pl.col("world") == world) for name, world in maps},
        "final": final,
        "alignment_tells": derived.correlation(
            final.filter(with_identity), "accuracy", "contrast", ["world", "seed"]
        ),
        "leads": leads.with_columns(lead=pl.col("answered") - pl.col("aligned")),
    }


final = share("final", "accuracy")
both = final.over("init")


def at(axis: str, value: str, init: str = "standard", world: str = "C = 1") -> Score:
    """Return a score: the final accuracy at one value of an axis.

    Args:
        axis: Name of the axis, a key of :data:`AXES`.
        value: Label of the value, a key of the axis in :data:`AXES`.
        init: Label of the initialisation, ``standard`` (the default) or ``small``.
        world: Label of the world: ``C = 1`` (the default), ``C = 2`` or ``no
            identity``.

    Returns:
        The score of the column ``accuracy`` at the last step. The names are not
        validated here.
    """
    return final.at(
        axis=axis,
        value=value,
        init=init,
        world=world,
    )


#: Axes and values at which the two initialisations are compared.
COMPARED = (
    ("width", "32"),
    ("width", "64"),
    ("width", "128"),
    ("depth", "2"),
    ("depth", "4"),
    ("depth", "12"),
)

SCORES = {
    "depth": at("depth", "8", world="C = 2") - at("depth", "2", world="C = 2") >= 0.15,
    "one-layer-fails": at("depth", "1") <= 0.3,
    "fixed-positions-hurt": at("positions", "learned, fixed start")
    - at("positions", "learned, random start")
    <= -0.1,
    "every-position-fails": both.at(
        axis="loss at", value="every position", world="C = 1"
    )
    <= 0.15,
    "warm-up-hurts": at("warm-up", "140") - at("warm-up", "0") <= -0.1,
    "tied-head-leaks": at("head", "tied", "small", "no identity") >= 0.15,
    "untied-head-does-not-leak": both.at(
        axis="head", value="untied", world="no identity"
    )
    <= 0.1,
    **{
        f"small-beats-standard-{axis}-{value}": at(axis, value, "small", "C = 2")
        - at(axis, value, "standard", "C = 2")
        >= 0.05
        for axis, value in COMPARED
    },
    "alignment-tells": cosine("alignment_tells", "correlation").over("world") >= 0.7,
    "alignment-leads": number("leads", "lead").over("init", "world") >= 1.0,
}
