"""Appendix E.1 of Geometric Memory: paths are not composed with frozen random embeddings."""

import polars as pl
from msgspec import structs

import inweights as iw
from inweights.config.ranges import PositiveInt
from inweights.experiments import Plan, share
from inweights.recipes.geometric_memory import paths as ways
from inweights.recipes.shared.derived import at_the_end
from inweights.recipes.shared.derived_paths import mean_recall, whole

KEYS = ["embeddings", "seed"]
LEARNT = "learnt"


class Search(iw.Config):
    """Settings of one training run with frozen random embeddings.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        rate: Peak learning rate, above 0; by default 0.005.
        std: Initial standard deviation of all weights, including embeddings, above 0;
            by default 0.05.
    """

    rate: float = 5e-3
    std: float = 0.05

    @property
    def name(self) -> str:
        """Label of these settings in the tables, such as ``frozen, rate 0.005, σ 0.05``."""
        return f"frozen, rate {self.rate:g}, σ {self.std:g}"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``e1.toml``. A value of the wrong type raises a
    ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        star: Settings of the path-star and of the training on it.
        search: Settings of the training runs with frozen embeddings, one entry for each
            run.
        width: Width of the models with frozen embeddings; 0 for the width of ``star``.
            By default, this width is larger, since these models must memorise without a
            geometry.
        steps: Number of updates of the models with frozen embeddings. For models with
            trained embeddings, the number in ``star`` is used.
        every: Number of steps between two measurements, at least 1.
    """

    star: ways.PathStarTraining = ways.PathStarTraining(nodes=4)
    search: tuple[Search, ...] = (Search(), Search(rate=2e-3))
    width: int = 96
    steps: int = 600
    every: PositiveInt = 50


def plan(settings: Settings) -> Plan:
    """Plan training runs on edges and paths together, with trained or frozen embeddings.

    Args:
        settings: The recipe's settings, such as ``star``, ``search`` and ``width``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Label of the trials: ``embeddings`` (``learnt``: trained; ``frozen, rate
          0.005, σ 0.05`` and ``frozen, rate 0.002, σ 0.05``: frozen, with this learning
          rate and initial standard deviation).
        - Measures: ``paths`` (:func:`inweights.probes.path_accuracy`; during training)
          and ``edges`` (:func:`inweights.probes.stepwise` with ``roles=("edge",
          "reverse_edge")``, ``apart=True``).

    Raises:
        ConfigError: ``every`` is negative, or a value is out of range for a path-star
            (such as fewer than 2 arms or 3 nodes per path), the model or its training.
    """
    star = settings.star
    trials = [star.trial({"embeddings": LEARNT}, how=ways.INTERLEAVED)]
    for point in settings.search:
        frozen = structs.replace(
            star,
            together=settings.steps,
            rate=point.rate,
            model=structs.replace(
                star.model,
                width=settings.width or star.model.width,
                init=iw.Init(std=point.std),
            ),
        )
        trials.append(frozen.trial({"embeddings": point.name}, how=ways.RANDOM))
    return Plan(
        trials=trials,
        measures=[ways.curves(every=settings.every), ways.recall(apart=True)],
    )


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return final accuracies with frozen and with trained embeddings, and learning curves.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Both tables have the columns ``embeddings, seed, part, place,
            accuracy, exact, statements``. Accuracies and recall are fractions from 0 to
            1.

            - ``paths``, from :func:`inweights.probes.path_accuracy`, with the
              additional columns ``hardest, chance, step``.
            - ``edges``, from :func:`inweights.probes.stepwise`, with the additional
              columns ``role, hub, recall``.

            The label is ``embeddings`` (``learnt``: trained; ``frozen, rate 0.005, σ
            0.05`` and ``frozen, rate 0.002, σ 0.05``: frozen, with this learning rate
            and initial standard deviation).

    Returns:
        - ``frozen``: a row per run with frozen embeddings at its last step: the
          accuracies ``hardest`` (on the hardest token of held-out paths, which is the
          first after the root), ``exact`` (share of held-out paths that are entirely
          correct), ``easiest_last`` (on the last token of held-out paths) and
          ``trained`` (share of training paths that are entirely correct); ``chance``,
          the accuracy of guessing the hardest token; ``best`` (the highest accuracy on
          the hardest token at any step), and the recall of edges at the root (``root``)
          and elsewhere (``recall``). Columns: ``embeddings, seed, step, hardest, exact,
          easiest_last, trained, chance, best, recall, root``.
        - ``learnt``: the same columns for runs with trained embeddings. Columns: as in
          ``frozen``.
        - ``curves``: a row per run, step and value of ``series`` (``hardest token, held
          out`` or ``exact match, trained``), with its ``accuracy``. Columns:
          ``embeddings, seed, step, series, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    runs = whole(tables["paths"])
    # A control may find paths during training and forget them later. Therefore its best
    # accuracy is stored besides the last one.
    final = at_the_end(runs.with_columns(best=pl.col("hardest").max().over(KEYS)), KEYS)
    root = tables["edges"]["hub"]
    others, of_root = (
        mean_recall(tables["edges"].filter(part), KEYS) for part in (~root, root)
    )
    final = final.join(others, on=KEYS).join(
        of_root.rename({"recall": "root"}), on=KEYS
    )
    learnt = pl.col("embeddings") == LEARNT
    texts = {"hardest": "hardest token, held out", "trained": "exact match, trained"}
    curves = runs.unpivot(
        on=list(texts),
        index=[*KEYS, "step"],
        variable_name="series",
        value_name="accuracy",
    ).with_columns(pl.col("series").replace_strict(texts, return_dtype=pl.String))
    return {
        "frozen": final.filter(~learnt),
        "learnt": final.filter(learnt),
        "curves": curves,
    }


frozen = share("frozen", "hardest").over("embeddings")

SCORES = {
    "frozen-fails": frozen.of("best") <= 0.05,
    "frozen-fails-at-the-end": frozen <= 0.02,
    "trained-paths-are-memorised": frozen.of("trained") >= 0.95,
    "edges-are-memorised": frozen.of("recall") >= 0.95,
    "learnt-succeeds": share("learnt", "hardest") >= 0.85,
}
