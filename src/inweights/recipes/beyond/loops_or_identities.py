"""Our experiment: do loops and identities remedy the same failure of composition?"""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config import replace_at
from inweights.config.ranges import PositiveInt
from inweights.experiments import (
    Curriculum,
    Measure,
    Plan,
    Trial,
    Value,
    cosine,
    number,
    share,
)
from inweights.recipes.shared.derived import half_time, memorised

ARM = ["model", "identity", "compositions"]
DENSE = "dense"
LOOPS = "loops"
INJECTED = "loops, injected"
NONE = "none"
SOME = "some"
#: Layer that is read, after one pass of the looped blocks or half of the dense ones.
HALF = "block.1"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``loops_or_identities.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        world: Two-hop world with shared bridges; some hops occur in no two-hop fact.
        width: Width of every model.
        steps: Number of updates of each model that is not trained on two-hop facts.
        long: Number of updates of each model that is trained on two-hop facts.
        rate: Learning rate, above 0, after 20 steps of warm-up.
        decay: Weight decay.
        every: Number of steps between measurements during training, at least 1.
        loops: Numbers of loops with which the looped models are evaluated.
    """

    world: iw.TwoHop = iw.TwoHop(
        n=20,
        first_relations=2,
        second_relations=4,
        maps="sampled",
        bridges=6,
        trained=0.75,
        unseen=0.3,
    )
    width: int = 64
    steps: int = 600
    long: int = 1200
    rate: float = 1e-3
    decay: float = 0.1
    every: PositiveInt = 20
    loops: tuple[PositiveInt, ...] = (1, 2, 3, 4, 8)


def plan(settings: Settings) -> Plan:
    """Plan training runs of each model, with and without identity facts and two-hop facts.

    Args:
        settings: The recipe's settings, such as ``world``, ``width`` and ``steps``;
            :class:`Settings` describes each.

    Returns:
        - Labels of the trials: ``model`` (``dense``: four blocks; ``loops``: two
          blocks, applied twice; ``loops, injected``: with the embedding added again),
          ``identity`` (Boolean: whether identity facts are used for training), and
          ``compositions`` (two-hop facts used for training: ``none``, ``some``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``embedding`` and
          ``layer`` (:func:`inweights.probes.realignment` with this value of ``onto``)
          and ``by_loops`` (:func:`inweights.probes.by_loops`; only for models with
          loops). During the training of the dense model on identities and hops, there
          are also ``aligned`` (:func:`inweights.probes.alignment`) and ``composed``
          (the same probe as ``accuracy``).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a model.
    """
    width = settings.width
    models = {
        DENSE: iw.GPTConfig(layers=4, width=width, tied=False),
        LOOPS: iw.GPTConfig(layers=2, loops=2, width=width, tied=False),
        INJECTED: iw.GPTConfig(
            layers=2,
            loops=2,
            inject=True,
            width=width,
            tied=False,
        ),
    }
    trials = [
        _trial(settings, model, identity=identity, compositions=compositions, name=name)
        for (name, model), identity, compositions in product(
            models.items(), (True, False), (NONE, SOME)
        )
    ]
    course: dict[str, Value] = {"model": DENSE, "identity": True, "compositions": NONE}
    every = settings.every
    return Plan(
        trials=trials,
        measures=[
            Measure(name="accuracy", probe=iw.probes.accuracy),
            *(
                Measure(name=onto, probe=iw.probes.realignment, options={"onto": onto})
                for onto in ("embedding", "layer")
            ),
            *(
                Measure(
                    name="by_loops",
                    probe=iw.probes.by_loops,
                    options={"counts": settings.loops},
                    where={"model": name},
                )
                for name in (LOOPS, INJECTED)
            ),
            Measure(
                name="aligned",
                probe=iw.probes.alignment,
                options={"places": ["first_hop"], "layers": [HALF]},
                every=every,
                where=course,
            ),
            Measure(
                name="composed", probe=iw.probes.accuracy, every=every, where=course
            ),
        ],
    )


def _trial(
    settings: Settings,
    model: iw.GPTConfig,
    *,
    identity: bool,
    compositions: str,
    name: str,
) -> Trial:
    roles = ["first_hop", "second_hop"] + ["identity"] * identity
    roles += ["two_hop"] * (compositions == SOME)
    phase = iw.Phase(
        roles=dict.fromkeys(roles, 1.0),
        steps=settings.long if compositions == SOME else settings.steps,
        random_offset=True,
        schedule=iw.Schedule(warmup=20),
        optimizer=iw.Optimizer(rate=settings.rate, weight_decay=settings.decay),
    )
    return Trial(
        labels={"model": name, "identity": identity, "compositions": compositions},
        world=replace_at(settings.world, {"identity": identity}),
        model=model,
        learner=Curriculum(phases=(phase,)),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies by role, the effects of realignment, and the timing of the alignment.

    Args:
        tables: The tables of a run of :func:`plan`, by name, with the columns of their
            probes: ``accuracy``, ``composed`` (:func:`inweights.probes.accuracy`;
            ``composed`` also with ``step``), ``embedding``, ``layer``
            (:func:`inweights.probes.realignment`), ``by_loops``
            (:func:`inweights.probes.by_loops`) and ``aligned``
            (:func:`inweights.probes.alignment`, with ``step``). All have ``seed`` and
            the labels ``model`` (``dense``; ``loops``; ``loops, injected``),
            ``identity`` (whether identities are used in training) and ``compositions``
            (two-hop facts used in training: ``none`` or ``some``). Accuracies and
            recall are fractions from 0 to 1. A missing table raises a ``KeyError``.

    Returns:
        - ``queries``: a row per run and role of two-hop queries (the role names the
          unseen hops); ``arm`` names the model and ``identity``. Columns: all columns
          of ``accuracy``, plus ``arm``.
        - ``overall``: a row per run, with the accuracy over all queries. Columns:
          ``model, identity, compositions, seed, accuracy``.
        - ``facts``: a row per run, with the lowest ``accuracy`` over the roles of
          facts. Columns: as in ``overall``.
        - ``moved``: a row per run, role, layer, method and ``onto`` (``embedding`` or
          ``layer``), as returned by :func:`inweights.probes.realignment`. Columns: all
          columns of ``embedding``, plus ``onto``.
        - ``moved_overall``: as ``moved``, over all roles. Columns: ``model, identity,
          compositions, seed, onto, layer, method, accuracy, decodable, cosine, other``.
        - ``gained``: the rows of ``moved`` for the first block, with ``onto`` =
          ``layer``. Columns: all columns of ``embedding``, plus ``onto, arm``.
        - ``by_loops``: a row per run, role of queries and number of loops. Columns: all
          columns of the measured ``by_loops``, plus ``arm``.
        - ``lead``: a row per seed: the steps at which the alignment (``alignment``) and
          the accuracy on queries with two unseen hops (``accuracy``) are half-way from
          their first values to their maxima, and ``lead``, which is ``accuracy`` minus
          ``alignment``. Columns: ``seed, alignment, accuracy, lead``.
        - ``through_time``: a row per seed, step and ``what`` (``alignment`` or
          ``accuracy``), with its ``value``. Columns: ``seed, step, what, value``.
    """
    accuracy = tables["accuracy"].filter(pl.col("role") != "two_hop")
    queries = accuracy.filter(part="queries")
    # The mean is over queries, not roles, which differ in their number of queries.
    weighted = (pl.col("accuracy") * pl.col("statements")).sum() / pl.col(
        "statements"
    ).sum()
    moved = pl.concat(
        tables[onto].with_columns(onto=pl.lit(onto)) for onto in ("embedding", "layer")
    )
    through_time = _through_time(tables["aligned"], tables["composed"])
    halves = half_time(through_time, "value", ["seed", "what"])
    halves = halves.pivot(on="what", index="seed", values="half_time")
    return {
        "queries": queries.with_columns(arm=_arm()),
        "overall": queries.group_by([*ARM, "seed"], maintain_order=True).agg(weighted),
        "facts": memorised(accuracy, ARM),
        "moved": moved,
        "moved_overall": moved.group_by(
            [*ARM, "seed", "onto", "layer", "method"], maintain_order=True
        ).agg(weighted, pl.col("decodable", "cosine", "other").mean()),
        "gained": moved.filter(onto="layer", layer="block.0").with_columns(arm=_arm()),
        "by_loops": tables["by_loops"].filter(part="queries").with_columns(arm=_arm()),
        "lead": halves.with_columns(lead=pl.col("accuracy") - pl.col("alignment")),
        "through_time": through_time,
    }


def _arm() -> pl.Expr:
    return pl.format(
        "{}, {}",
        "model",
        pl.when("identity")
        .then(pl.lit("identities"))
        .otherwise(pl.lit("no identities")),
    )


def _through_time(aligned: pl.DataFrame, composed: pl.DataFrame) -> pl.DataFrame:
    """Return the share of first hops nearest to their bridge, and accuracy if no hop was seen."""
    both = composed.filter(role="both_unseen")
    return pl.concat(
        table.select("seed", "step", pl.lit(what).alias("what"), value=column)
        for table, column, what in (
            (aligned, "nearest", "alignment"),
            (both, "accuracy", "accuracy"),
        )
    )


queries = share("queries", "accuracy")
bare = queries.at(identity=False, compositions=SOME)
second = bare.at(role="second_unseen")
unseen = queries.at(compositions=SOME, role="both_unseen")
looped = unseen.at(model=LOOPS)
overall = share("overall", "accuracy")
loop = share(
    "moved", "accuracy", onto="embedding", layer=HALF, model=LOOPS, identity=False
)
loop = loop.at(compositions=SOME, role="both_unseen")
alone = share("moved_overall", "accuracy", onto="layer", model=DENSE, compositions=NONE)
alone = alone.at(identity=False)
early = alone.at(layer="block.0")
alike = cosine("moved_overall", "cosine", onto="layer", layer=HALF, compositions=NONE)
alike = alike.at(method="none")

SCORES = {
    "facts-are-known": share("facts", "accuracy").over(*ARM) >= 0.99,
    "in-distribution": bare.at(role="composition", model=DENSE) >= 0.8,
    "first-hop-is-free": bare.at(role="first_unseen", model=DENSE)
    - second.at(model=DENSE)
    >= 0.2,
    "second-hop-fails": second.at(model=DENSE) <= 0.3,
    "recurrence-cures-second-hop": second.at(model=LOOPS) - second.at(model=DENSE)
    >= 0.1,
    "bridge-is-decodable": loop.of("decodable").at(method="none") >= 0.9,
    "bridge-is-misaligned": cosine("moved", "cosine", **loop.where).at(method="none")
    <= 0.3,
    "realignment-closes-the-gap": loop.at(method="decoded") >= 0.8,
    "identities-compose-alone": overall.at(identity=True, compositions=NONE).over(
        "model"
    )
    >= 0.2,
    "loops-do-not": overall.at(identity=False, compositions=NONE).over("model") <= 0.15,
    "identities-align": alike.at(identity=True).over("model") - alike.at(identity=False)
    >= 0.5,
    "alignment-comes-first": number("lead", "lead") >= 20.0,
    "identities-help-loops": looped.at(identity=True) - looped.at(identity=False)
    >= 0.1,
    "loops-add-nothing": (
        looped.at(identity=True) - unseen.at(model=DENSE, identity=True)
    ).within(-0.15, 0.15),
    "realignment-is-no-identity": early.at(method="decoded") - early.at(method="none")
    >= 0.2,
    "facts-lie-too-early": early.at(method="true")
    - alone.at(layer="block.2", method="true")
    >= 0.1,
}
