"""Figure 2 of Identity Bridge with the paper's tied head, from the initialisation of GPT-2."""

from itertools import product

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.experiments import Plan, Trial, Value, share
from inweights.recipes.identity_bridge import common as ib
from inweights.recipes.shared.derived import compositions, memorised

LABELS = ("model", "start", "identity", "complexity")
#: Initialisations of the matrices that write into the residual stream: a standard
#: deviation that decreases with depth, as in GPT-2, or that of all other matrices.
GPT2 = "GPT-2's"
UNIFORM = "uniform"


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``fig2_tied.toml``. A value of the wrong type raises
    a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects and of objects, at least 2.
        complexities: Values of ``C``, the number of objects per subject (from 1 to
            ``n``), in worlds with identities.
        controls: Values of ``C`` in worlds without identities, for models that are
            initialised as in GPT-2.
        uniform_controls: Values of ``C`` in worlds without identities, for models whose
            matrices all have the same initial standard deviation.
        tied: Settings of the GPTs with a tied head, and of their training.
    """

    n: int = 20
    complexities: tuple[int, ...] = (1, 3)
    controls: tuple[int, ...] = (1,)
    uniform_controls: tuple[int, ...] = (1,)
    tied: ib.GPTTraining = ib.TIED_HEAD


def plan(settings: Settings) -> Plan:
    """Plan training runs of tied GPTs with two initialisations, with and without identities.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexities`` and
            ``controls``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (gpt-tied, gpt-tied-decay; the conditions of
          :func:`~inweights.recipes.identity_bridge.common.trial`), ``start`` (how the
          matrices that write into the residual stream are initialised: ``GPT-2's``,
          with a standard deviation that decreases with the number of layers;
          ``uniform``, with the same standard deviation as all other matrices),
          ``identity`` (Boolean: whether the identity facts are in the training set),
          and ``complexity`` (integer ``C``, the number of objects per subject: 1, 3).
        - Measure: ``accuracy`` (:func:`inweights.probes.accuracy`).

    Raises:
        ConfigError: ``n`` is below 2, a complexity is not between 1 and ``n``, or a
            value is out of range for the model or its training.
    """
    arms = (
        (GPT2, True, settings.complexities),
        (GPT2, False, settings.controls),
        (UNIFORM, False, settings.uniform_controls),
    )
    trials = []
    for start, identity, complexities in arms:
        trials += [
            _trial(settings, name, start, identity, complexity)
            for complexity, name in product(complexities, ib.CONDITIONS[3:])
        ]
    return Plan(trials=trials, measures=[iw.probes.accuracy])


def _trial(
    settings: Settings, name: str, start: str, identity: bool, complexity: int
) -> Trial:
    """Return a trial of Figure 2 whose model starts from one of the two initialisations."""
    model = replace(settings.tied.model, depth_scaled=start == GPT2)
    tied = replace(settings.tied, model=model)
    world = iw.TwoHop(n=settings.n, complexity=complexity, identity=identity)
    labels: dict[str, Value] = {
        "start": start,
        "identity": identity,
        "complexity": complexity,
    }
    return ib.trial(name, world, tied, ib.EmbMLPTraining(), tied, **labels)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracy on compositions, 1/C for comparison, and recall of the facts.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`) with the
            columns ``model, start, identity, complexity, seed, part, role,
            distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``. The labels are ``model`` (gpt-tied, gpt-tied-decay; the
            conditions are explained at
            :func:`~inweights.recipes.identity_bridge.common.trial`), ``start`` (how the
            matrices that write into the residual stream are initialised: ``GPT-2's``,
            with a standard deviation that decreases with the number of layers;
            ``uniform``, with the same standard deviation as all other matrices),
            ``identity`` (Boolean: whether the identity facts are in the training set),
            and ``complexity`` (integer ``C``, the number of objects per subject: 1, 3).
            Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``compositions``: a row per run, with the accuracy on the compositions, and
          with ``one_over_c`` (1/C, the accuracy of a guess among the ``C`` objects of a
          subject) and ``arm`` (a string that combines ``identity`` and ``start``, for
          the figure). Columns: all columns of ``accuracy``, plus ``one_over_c, arm``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, start, identity, complexity, seed,
          accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    queries = compositions(tables["accuracy"]).with_columns(
        one_over_c=1.0 / pl.col("complexity")
    )
    given = (
        pl.when("identity")
        .then(pl.lit("with identity"))
        .otherwise(pl.lit("without identity"))
    )
    shown = queries.with_columns(arm=pl.format("{}, start {}", given, "start"))
    return {"compositions": shown, "memorised": memorised(tables["accuracy"], LABELS)}


accuracy = share("compositions", "accuracy")
plain, decayed = (accuracy.at(model=name) for name in ib.CONDITIONS[3:])
Where = dict[str, Value]
first: Where = {"identity": True, "complexity": 1, "start": GPT2}
third: Where = {"identity": True, "complexity": 3, "start": GPT2}
without: Where = {"identity": False, "complexity": 1, "start": GPT2}
uniform: Where = {"identity": False, "complexity": 1, "start": UNIFORM}

SCORES = {
    "c1": plain.at(**first) >= 0.9,
    "c1-decay": decayed.at(**first) >= 0.9,
    "without-identity-fails": plain.at(**without) <= 0.15,
    "without-identity-fails-decay": decayed.at(**without) <= 0.15,
    "identity-adds": plain.at(**first) - plain.at(**without) >= 0.3,
    "identity-adds-decay": decayed.at(**first) - decayed.at(**without) >= 0.3,
    "decay-recovers": decayed.at(**third) - plain.at(**third) >= 0.05,
    "start-leaks": plain.at(**without) - plain.at(**uniform) >= 0.1,
    "decay-leaks": decayed.at(**without) - plain.at(**without) >= 0.1,
    "facts-known": share("memorised", "accuracy").over(*LABELS) >= 0.99,
}
