"""Out-of-Context Reasoning: can one matrix, or a product of two, infer new facts?"""

from itertools import product

import polars as pl

import inweights as iw
from inweights import experiments
from inweights.models.configs import DeepLinearConfig
from inweights.recipes.shared.derived import memorised
from inweights.worlds.families.implication import Implication

FACTORISED = "two matrices"
MERGED = "one matrix"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``factorised.toml``. A value of the wrong type raises
    a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        groups: Number of groups, at least 2.
        cells: One entry per world, consisting of two numbers: the number of members of
            a group, and the number of these members for whom a fact states the group's
            second value. The second number must be at least 1 and below the first.
        width: Number of columns of the first of the two matrices, and width of the
            single matrix; at least the number of tokens.
        std: Initial standard deviation of all matrices, above 0.
        rates: Two learning rates, one for the product of two matrices and one for the
            single matrix.
        steps: Number of updates.
    """

    groups: int = 5
    cells: tuple[tuple[int, int], ...] = ((8, 1), (8, 3), (16, 1), (16, 3))
    width: int = 96
    std: float = 0.01
    rates: tuple[float, float] = (2.0, 20.0)
    steps: int = 6000


def plan(settings: Settings) -> experiments.Plan:
    """Plan the training of a product of two matrices, and of one matrix, on every world.

    The two matrices belong to an Emb-MLP: ``W_V``, which is applied to one-hot tokens,
    and ``W_O``.

    Args:
        settings: The recipe's settings, such as ``groups``, ``cells`` and ``width``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``members`` (number of members of a group: 8, 16),
          ``told`` (number of members of a group whose second value is among the facts:
          1, 3), and ``model`` (``two matrices``, ``one matrix``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``ends``
          (:func:`inweights.probes.direction`), ``nuclear``
          (:func:`inweights.probes.nuclear_norm`) and ``frobenius``
          (:func:`inweights.probes.nuclear_norm` with ``order="fro"``).

    Raises:
        ConfigError: ``groups`` is below 2, the second number of an entry of ``cells``
            is below 1 or not below the first number, or a value is out of range for a
            model or its training.
    """
    init = iw.Init(std=settings.std)
    models: dict[str, experiments.ModelConfig] = {
        FACTORISED: iw.EmbMLPConfig(width=settings.width, init=init),
        MERGED: DeepLinearConfig(
            width=settings.width, layers=1, readout=False, init=init
        ),
    }
    learners = {}
    # The gradient of a product of small matrices is small, unlike that of a single
    # matrix. Therefore each model has its own learning rate.
    for name, rate in zip(models, settings.rates, strict=True):
        optimizer = iw.Optimizer(kind="sgd", rate=rate)
        phase = iw.Phase(steps=settings.steps, optimizer=optimizer)
        learners[name] = experiments.Curriculum(phases=(phase,))
    trials = [
        experiments.Trial(
            labels={"members": members, "told": told, "model": name},
            world=Implication(groups=settings.groups, members=members, told=told),
            model=models[name],
            learner=learners[name],
        )
        for (members, told), name in product(settings.cells, models)
    ]
    measures = [
        experiments.Measure(name="accuracy", probe=iw.probes.accuracy),
        experiments.Measure(name="ends", probe=iw.probes.direction),
        experiments.Measure(name="nuclear", probe=iw.probes.nuclear_norm),
        experiments.Measure(
            name="frobenius", probe=iw.probes.nuclear_norm, options={"order": "fro"}
        ),
    ]
    return experiments.Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the accuracy on the queries and on the facts.

    Args:
        tables: The tables that result from :func:`plan`, by name. A run is one trial
            with one seed. All tables have the columns ``members, told, model, seed``.
            Accuracies are fractions from 0 to 1.

            - ``accuracy``, from :func:`inweights.probes.accuracy`, with the additional
              columns ``part, role, distribution, statements, accuracy, accuracy_among,
              chance, loss, right_answers``.
            - ``ends``, from :func:`inweights.probes.direction`, with the additional
              columns ``cosine, least_margin, excess, query_margin, expected``.
            - ``nuclear``, from :func:`inweights.probes.nuclear_norm`, with the
              additional columns ``least_margin, norm``.
            - ``frobenius``, from :func:`inweights.probes.nuclear_norm`, with the
              additional columns ``least_margin, norm``.

            The labels are ``members`` (number of members of a group: 8, 16), ``told``
            (number of members of a group whose second value is among the facts: 1, 3),
            and ``model`` (``two matrices``, ``one matrix``).

    Returns:
        - ``questions``: a row per run, role and distribution of the queries, with the
          accuracy on these queries. Columns: all columns of ``accuracy``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, members, told, seed, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    return {
        "questions": tables["accuracy"].filter(pl.col("part") == "queries"),
        "memorised": memorised(tables["accuracy"], ["model", "members", "told"]),
    }


CELL = ("members", "told")
accuracy = experiments.share("questions", "accuracy")
among = experiments.share("questions", "accuracy_among")
nuclear = experiments.number("nuclear", "norm")
frobenius = experiments.number("frobenius", "norm")

SCORES = {
    "two-matrices-conclude": accuracy.at(model=FACTORISED, members=8, told=3) >= 0.9,
    "sample-efficient": accuracy.at(model=FACTORISED, told=1).over("members") >= 0.9,
    "one-matrix-does-not": among.at(model=MERGED).over(*CELL) <= 0.3,
    "less-nuclear": (nuclear.at(model=FACTORISED) - nuclear.at(model=MERGED)).over(
        *CELL
    )
    <= 0.0,
    "less-frobenius": (
        frobenius.at(model=MERGED) - frobenius.at(model=FACTORISED)
    ).over(*CELL)
    <= 0.0,
    "a-tie": experiments.number("ends", "query_margin", model=MERGED)
    .over(*CELL)
    .within(-0.02, 0.02),
    "memorised": experiments.share("memorised", "accuracy").over("model", *CELL)
    >= 0.99,
}
