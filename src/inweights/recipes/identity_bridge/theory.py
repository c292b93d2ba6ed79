"""The proofs of Identity Bridge (§4.3, App. A), step by step, compared with training runs."""

from itertools import product

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.config import check_size
from inweights.config.ranges import PositiveInt
from inweights.recipes.identity_bridge.proofs import SCORES as PROVED
from inweights.recipes.identity_bridge.proofs import computations

#: Initial scale and weight decay of each kind of training.
TRAININGS = {
    "standard": (0.01, 0.0),
    "small initialisation": (0.001, 0.0),
    "large initialisation": (0.3, 0.0),
    "weight decay": (0.01, 1e-4),
}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``theory.toml``.

    Attributes:
        sizes: Values of ``N``, the number of entities of each kind, at which the steps
            of the proofs are checked; each from 2 to 10⁹.
        full: Values of ``N`` at which the full program is compared with the symmetric
            one; each from 2 to 10⁹.
        ties: Value of ``N`` in the worlds with complexity above 1; at least 2.
        complexities: Values of ``C``, the number of objects per subject, in the
            worlds of ``ties``; each from 1 to ``ties``.
        trained: Value of ``N`` in the worlds on which models are trained; at least 2.
        steps: Number of updates of each training run.
        every: Number of updates between two measurements of the direction of the
            weights, at least 1.
        rate: Learning rate of gradient descent, above 0.
        width: Width of the Emb-MLP, at least 1.

    Raises:
        ConfigError: A value of ``sizes`` or ``full`` is not between 2 and 10⁹, or a
            value has the wrong type.
    """

    sizes: tuple[int, ...] = (5, 10, 100, 1000, 10_000)
    full: tuple[int, ...] = tuple(range(3, 13))
    ties: int = 20
    complexities: tuple[PositiveInt, ...] = (2, 3, 4, 5)
    trained: int = 10
    steps: int = 20_000
    every: PositiveInt = 500
    rate: float = 1.0
    width: int = 64

    def __post_init__(self) -> None:
        for name in ("sizes", "full"):
            for n in getattr(self, name):
                check_size(f"each of {name}", n, least=2, most=10**9)
        check_size("ties", self.ties, least=2, most=10**9)
        for complexity in self.complexities:
            check_size("each of complexities", complexity, most=self.ties)


def plan(settings: Settings) -> experiments.Plan:
    """Plan numerical checks of every step of the proofs, and training runs for comparison.

    Args:
        settings: The recipe's settings, such as ``sizes``, ``full`` and ``ties``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Labels of the trials: ``identity`` (Boolean: whether the identity facts are in
          the training set) and ``training`` (standard, small initialisation, large
          initialisation, weight decay: the initial scale and decay of
          :data:`TRAININGS`).
        - Measures: ``directions`` (:func:`inweights.probes.direction`; during
          training), ``ends`` (:func:`inweights.probes.direction`) and ``accuracy``
          (:func:`inweights.probes.accuracy`).
        - Computations of the steps of the proofs (:func:`~.proofs.computations`), with
          the label ``n`` (number of entities) and, in some, ``identity`` and
          ``complexity``: ``with``
          (:func:`~inweights.theory.identity_bridge.proof.with_identity`), ``without``
          (:func:`~inweights.theory.identity_bridge.proof.without`), ``point``
          (:func:`~inweights.theory.identity_bridge.proof.point_42`), ``kkt``
          (:func:`~inweights.theory.identity_bridge.proof_kkt.at_optimum`), ``random``
          (:func:`~inweights.theory.identity_bridge.proof_kkt.at_random`), ``averaging``
          (:func:`~inweights.theory.identity_bridge.full_matrices.averaging`), ``proof``
          (:func:`~inweights.theory.identity_bridge.full_matrices.certificate`) and
          ``full``
          (:func:`~inweights.theory.identity_bridge.full_matrices.full_program`).

    Raises:
        ConfigError: ``trained`` is below 2, ``every`` is negative, or a value is out of
            range for the model or its training. The arguments of the computations are
            checked when these are run.
    """
    worlds = [(n, 1) for n in settings.full] + [
        (settings.ties, c) for c in settings.complexities
    ]
    trials = []
    for identity, (training, (std, decay)) in product((True, False), TRAININGS.items()):
        descent = iw.Optimizer(kind="sgd", rate=settings.rate, weight_decay=decay)
        trials.append(
            experiments.Trial(
                labels={"identity": identity, "training": training},
                world=iw.TwoHop(n=settings.trained, complexity=1, identity=identity),
                model=iw.EmbMLPConfig(width=settings.width, init=iw.Init(std=std)),
                learner=experiments.Curriculum(
                    phases=(iw.Phase(steps=settings.steps, optimizer=descent),)
                ),
            )
        )
    measures = [
        experiments.Measure(
            name="directions", probe=iw.probes.direction, every=settings.every
        ),
        experiments.Measure(name="ends", probe=iw.probes.direction),
        experiments.Measure(name="accuracy", probe=iw.probes.accuracy),
    ]
    steps = computations(settings.sizes, settings.full, worlds)
    return experiments.Plan(trials=trials, measures=measures, computations=steps)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the margins and accuracies that the theory predicts, and whether training agrees.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. Accuracies are fractions from 0 to 1.

            - ``directions`` and ``ends``, from :func:`inweights.probes.direction`, with
              the columns ``identity, training, seed, cosine, least_margin, excess,
              query_margin, expected``. ``directions`` also has the column ``step``.
            - The tables of the computations, with the columns ``check, value, seed``
              and the labels of the computations. Of these tables, only ``with`` and
              ``without`` (label ``n``) and ``full`` (labels ``n, identity,
              complexity``) are used.
            - ``accuracy``, which is not used.

            The labels are ``identity`` (Boolean: whether the identity facts are in the
            training set) and ``training`` (standard, small initialisation, large
            initialisation, weight decay: the initial scale and decay of
            :data:`TRAININGS`).

    Returns:
        - ``margins``: a row per ``n`` and theorem: the margin of the compositions at
          the optimum (``value``) with identity (``check`` is ``thm 1``, which is
          positive) and without (``thm 2``, negative); ``identity`` names the case for
          the figure. Columns: ``n, seed, check, value, identity``.
        - ``expected``: a row per ``complexity`` above 1, with identity: the accuracy on
          compositions that the optimum predicts (``value``), and ``excess``, this
          accuracy minus 1/C. Columns: ``n, identity, complexity, seed, check, value,
          excess``.
        - ``ends``: a row per run at the end of training; ``agrees`` is 1.0 if the
          median margin of the queries in the trained model has the predicted sign,
          otherwise 0.0. It is also 0.0 if the model has not learned every fact.
          Columns: all columns of the measured ``ends``, plus ``agrees``.
        - ``curves``: a row per run and step, with ``condition`` (``with identity`` or
          ``without``, for the figure). Columns: all columns of ``directions``, plus
          ``condition``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    shown = (("with", "thm 1", "with identity"), ("without", "thm 2", "without"))
    margins = [
        tables[table]
        .filter(pl.col("check") == check)
        .with_columns(identity=pl.lit(words))
        for table, check, words in shown
    ]
    expected = tables["full"].filter(
        pl.col("check") == "expected", pl.col("complexity") > 1, pl.col("identity")
    )
    # If a fact is not known, the margin is NaN, which counts as no agreement.
    agreement = (pl.col("query_margin") * pl.col("expected")).fill_nan(0.0)
    given = (
        pl.when("identity").then(pl.lit("with identity")).otherwise(pl.lit("without"))
    )
    return {
        "margins": pl.concat(margins),
        "expected": expected.with_columns(
            excess=pl.col("value") - 1.0 / pl.col("complexity")
        ),
        "ends": tables["ends"].with_columns(agrees=(agreement > 0).cast(pl.Float64)),
        "curves": tables["directions"].with_columns(condition=given),
    }


direction = experiments.cosine("ends", "cosine")
standard, small, large, decay = (
    direction.at(training=training) for training in TRAININGS
)

SCORES = {
    **PROVED,
    "ties-predict-one-over-c": experiments.computed("expected", "excess")
    .over("complexity")
    .within(-0.02, 0.02),
    "signs-agree": experiments.share("ends", "agrees").over("identity", "training")
    >= 0.999,
    "direction-with": standard.at(identity=True) >= 0.95,
    "direction-without": standard.at(identity=False) >= 0.95,
    "norm-is-least": experiments.number("ends", "excess", training="standard").over(
        "identity"
    )
    <= 0.05,
    "small-initialisation-closer": (small - large).over("identity") >= 0.0,
    "decay-closer": (decay - standard).over("identity") >= 0.0,
}
