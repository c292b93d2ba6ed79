"""Our experiment: how many chains and layers does implicit reasoning over 2, 3 and 4 hops need?"""

from itertools import product

import polars as pl

import inweights as iw
from inweights.config import check_size
from inweights.experiments import Plan, Trial, number, share
from inweights.worlds.families.hops import Hops

ALONE = "alone"
MIXED = "shorter mixed in"
FIRST = "shorter first"
BRIDGED = "identities"
#: Accuracy on chains outside training from which on they count as learnt.
LEARNT = 0.5


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``hops_and_layers.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of entities of each level, at least 2.
        relations: Number of relations from each level to the next, at least 1.
        taught: Shares of the chains of each length that are used for training: one or
            more values, each above 0 and below 1.
        depths: Numbers of layers of additional models, which are trained only on the
            largest number of chains.
        layers: Number of layers of all other models.
        width: Width of every model.
        batch: Number of chains in an update, in addition to all facts; 0 for all
            chains.
        steps: Number of updates of a training run, over all of its phases.
        rate: Peak learning rate, above 0.
        decay: Weight decay.
    """

    n: int = 5
    relations: int = 5
    taught: tuple[float, ...] = (0.3, 0.6, 0.9)
    depths: tuple[int, ...] = (1, 2, 3)
    layers: int = 4
    width: int = 32
    batch: int = 128
    steps: int = 1200
    rate: float = 3e-3
    decay: float = 0.5


def plan(settings: Settings) -> Plan:
    """Plan training runs with different chains, numbers of layers and additional facts.

    Args:
        settings: The recipe's settings, such as ``n``, ``relations`` and ``taught``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``hops`` (length of the chains: 2, 3, 4), ``chains``
          (number of chains used for training), ``layers`` (number of layers: 1, 2, 3,
          4), and ``beside`` (what the model is trained on in addition to the facts and
          these chains: ``alone`` for nothing, ``shorter mixed in`` for two-hop chains,
          ``shorter first`` for two-hop chains in an earlier phase, or ``identities``).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: ``taught`` is empty or contains a share that is not above 0 and
            below 1, or a value is out of range for a world, the model or its training.
    """
    check_size("the number of shares in taught", len(settings.taught))
    most = max(settings.taught)
    layers = settings.layers
    lengths = (2, 3, 4)
    helps = (MIXED, FIRST, BRIDGED)
    arms = [
        (hops, taught, layers, ALONE)
        for hops, taught in product(lengths, settings.taught)
    ]
    arms += [
        (hops, most, fewer, ALONE) for hops, fewer in product(lengths, settings.depths)
    ]
    arms += [
        (3, taught, layers, beside)
        for beside, taught in product(helps, settings.taught)
    ]
    return Plan(
        trials=[_trial(settings, *arm) for arm in arms], measures=[iw.probes.accuracy]
    )


def _trial(
    settings: Settings, hops: int, taught: float, layers: int, beside: str
) -> Trial:
    asked = "two_hop" if hops == 2 else "chain"
    stages = {
        ALONE: [["edge", asked]],
        MIXED: [["edge", "two_hop", asked]],
        FIRST: [["edge"], ["edge", "two_hop"], ["edge", "two_hop", asked]],
        BRIDGED: [["identity", "edge", asked]],
    }[beside]
    phases = tuple(
        iw.Phase(
            roles=dict.fromkeys(roles, 1.0),
            steps=settings.steps // len(stages),
            batch={"+".join(roles[roles.index("edge") + 1 :]): settings.batch}
            if roles[1:]
            else 0,
            optimizer=iw.Optimizer(rate=settings.rate, weight_decay=settings.decay),
            schedule=iw.Schedule(kind="cosine", warmup=20),
        )
        for roles in stages
    )
    world = Hops(
        n=settings.n,
        hops=hops,
        identity=beside == BRIDGED,
        relations=settings.relations,
        trained=taught,
        shortest=2 if beside in (MIXED, FIRST) else hops,
    )
    chains = round(taught * world.n * world.relations**hops)
    return Trial(
        labels={
            "hops": hops,
            "chains": chains,
            "layers": layers,
            "beside": beside,
        },
        world=world,
        model=iw.GPTConfig(layers=layers, width=settings.width, positions="none"),
        learner=iw.Curriculum(phases=phases),
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy on held-out chains, and the smallest numbers of chains and layers needed.

    Chains are considered learnt if the accuracy on them is at least :data:`LEARNT`
    (0.5). If no number of chains suffices, twice the largest number that was tried is
    reported. If no number of layers suffices, the largest number plus 1 is reported.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``hops, chains, layers, beside, seed, part, role, distribution,
            statements, accuracy, accuracy_among, chance, loss, right_answers``. The
            labels are ``hops`` (length of the chains: 2, 3, 4), ``chains`` (number of
            chains used for training), ``layers`` (number of layers: 1, 2, 3, 4), and
            ``beside`` (what the model is trained on in addition to the facts and these
            chains: ``alone`` for nothing, ``shorter mixed in`` for two-hop chains,
            ``shorter first`` for two-hop chains in an earlier phase, or
            ``identities``). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``by_chains``: a row per run that has the largest number of layers and trains
          only on the facts and chains (``alone``), with the accuracy on the held-out
          chains; ``length`` is a string such as ``2 hops``. Columns: all columns of
          ``accuracy``, plus ``length``.
        - ``by_layers``: a row per run that trains on the largest number of chains and
          no additional data (``alone``). Columns: as in ``by_chains``.
        - ``helped``: a row per run on three hops with the largest number of layers.
          Columns: as in ``by_chains``.
        - ``growth``: a row per length, ``beside`` and seed: the smallest number of
          training ``chains`` that suffices, the same number for chains that are one hop
          shorter without additional training data (``alone``), and ``growth``, which
          is ``chains`` divided by ``alone``. Columns: ``hops, beside, seed, chains,
          alone, growth``.
        - ``saved``: a row per length, ``beside`` and seed: the smallest number of
          training ``chains`` that suffices, the same number without additional training
          data (``alone``), and ``fewer``, ``alone`` divided by ``chains``. Columns:
          ``hops, beside, seed, chains, alone, fewer``.
        - ``deeper``: a row per length (except the first) and seed: the smallest number
          of ``layers`` that suffices, minus the number for the next shorter length.
          Columns: ``hops, beside, seed, layers``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    role = (
        pl.when(pl.col("hops") == 2)
        .then(pl.lit("composition"))
        .otherwise(pl.lit("chain"))
    )
    asked = tables["accuracy"].filter(pl.col("role") == role, distribution="in")
    asked = asked.with_columns(length=pl.format("{} hops", "hops"))
    by_chains = asked.filter(pl.col("layers") == pl.col("layers").max())
    by_layers = asked.filter(
        pl.col("chains") == pl.col("chains").max().over("hops"), beside=ALONE
    )
    needed = _least(by_chains, "chains", 2 * pl.col("chains").max())
    deep = _least(by_layers, "layers", 1 + pl.col("layers").max())
    alone = needed.filter(beside=ALONE).select("hops", "seed", alone="chains")
    shorter = alone.with_columns(pl.col("hops") + 1)
    growth = pl.col("chains") / pl.col("alone")
    fewer = pl.col("alone") / pl.col("chains")
    return {
        "by_chains": by_chains.filter(beside=ALONE),
        "by_layers": by_layers,
        "helped": by_chains.filter(hops=3),
        "growth": needed.join(shorter, on=["hops", "seed"]).with_columns(growth=growth),
        "saved": needed.join(alone, on=["hops", "seed"]).with_columns(fewer=fewer),
        "deeper": deep.with_columns(pl.col("layers").diff().over("seed")).drop_nulls(
            "layers"
        ),
    }


def _least(asked: pl.DataFrame, what: str, otherwise: pl.Expr) -> pl.DataFrame:
    # If no value suffices, the run counts as one that needs more than all values that
    # were tried (`otherwise`), and is not left out.
    least = pl.col(what).filter(pl.col("accuracy") >= LEARNT).min().fill_null(otherwise)
    arms = asked.group_by("hops", "beside", "seed", maintain_order=True)
    return arms.agg(least.cast(pl.Float64)).sort("hops", maintain_order=True)


growth = number("growth", "growth")
fewer = number("saved", "fewer", hops=3)

SCORES = {
    "facts-are-known": share("accuracy", "accuracy", role="edge").over("hops", "beside")
    >= 0.99,
    "hops-are-learnt": share("by_layers", "accuracy", layers=4).over("hops") >= LEARNT,
    "exponential-data": growth.at(beside=ALONE).over("hops") >= 2.0,
    "linear-layers": number("deeper", "layers").over("hops").within(0.5, 1.5),
    "shorter-first-saves": fewer.at(beside=FIRST) >= 2.0,
    "and-does-not-cure": growth.at(hops=3, beside=FIRST) >= 1.5,
    "mixing-saves-less": fewer.at(beside=FIRST) - fewer.at(beside=MIXED) >= 0.5,
    "identities-save": fewer.at(beside=BRIDGED) >= 2.0,
}
