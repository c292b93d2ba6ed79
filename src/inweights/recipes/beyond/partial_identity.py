"""Our experiment: two-hop accuracy and similarity by the fraction of bridges with an identity."""

import polars as pl

import inweights as iw
from inweights.experiments import Measure, Plan, number, share
from inweights.recipes.feature_resemblance import common as fr
from inweights.recipes.feature_resemblance import trainings as tasks
from inweights.recipes.shared.derived import memorised
from inweights.worlds.families.analogy import AnalogicalTwoHop

#: Predicted cosine of a chain's subject and bridge above which the chain is expected to
#: be answered correctly.
HALF = 0.5


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``partial_identity.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of chains, at least 2.
        rho: Number of copies of each first-hop fact and of each identity in the
            training set, at least 1. There is one copy of each second-hop fact.
        fractions: Fractions of the bridges that have an identity, from 0 to 1; these
            bridges are drawn at random.
        one_layer: Settings of the one-layer transformer and of its training.
        gpt: Settings of the GPT and of its training.
    """

    n: int = 100
    rho: float = 3.0
    fractions: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    one_layer: tasks.OneLayerTraining = tasks.OneLayerTraining()
    gpt: tasks.GPTTraining = tasks.GPTTraining()


def plan(settings: Settings) -> Plan:
    """Plan training with every share of bridges with identities, and predictions.

    Args:
        settings: The recipe's settings, such as ``n``, ``rho`` and ``fractions``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``model`` (one-layer, GPT) and ``fraction`` (share of
          the bridges that have an identity: 0, 0.25, 0.5, 0.75, 1).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``resemblance``
          (:func:`inweights.probes.resemblance` with ``by_pair=True``) and ``margins``
          (:func:`inweights.probes.margins`).
        - Computation: ``foretold``
          (:func:`inweights.probes.resemblance.predicted_similarity`), the similarity of
          each chain's entities that theory predicts for the one-layer transformer,
          without training.

    Raises:
        ConfigError: ``n`` is below 2, ``rho`` is below 1, a fraction is not between 0
            and 1, ``gpt.losses`` does not contain a two-hop task, or a value is out of
            range for a model or its training.
    """
    one = settings.one_layer
    trials = []
    computations = []
    for fraction in settings.fractions:
        course = "two-hop" if fraction > 0 else "two-hop without identity"
        world = AnalogicalTwoHop(n=settings.n, identity=fraction, maps="permutation")
        labels = {"fraction": fraction}
        trials += fr.both_models(
            labels, world, one, settings.gpt, course=course, rho=settings.rho
        )
        roles = tasks.phase_roles(course, settings.rho)[0]
        computations.append(one.foretold(labels, world, roles, by_pair=True))
    measures = [
        Measure(name="accuracy", probe=iw.probes.accuracy),
        Measure(
            name="resemblance", probe=iw.probes.resemblance, options={"by_pair": True}
        ),
        Measure(name="margins", probe=iw.probes.margins),
    ]
    return Plan(trials=trials, computations=computations, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return predicted and measured results for chains, by run and by predicted similarity.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``resemblance`` (:func:`inweights.probes.resemblance`:
            ``prompt, layer, depth, one, two, cosine, other, contrast``), ``margins``
            (:func:`inweights.probes.margins`: ``part, role, distribution, prompt,
            answer, predicted, margin, margin_among, right_answers``), and ``foretold``
            (:func:`inweights.probes.resemblance.predicted_similarity`: ``one, two,
            from_facts``). All have the columns ``model, fraction, seed``. The labels
            are ``model`` (one-layer, GPT) and ``fraction`` (share of the bridges that
            have an identity: 0, 0.25, 0.5, 0.75, 1). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        - ``worlds``: a row per run, with means over its chains: ``cosine`` (similarity
          of a chain's subject and bridge), ``hit`` (accuracy), ``from_facts``
          (predicted similarity) and ``agrees`` (share of chains that are answered
          correctly if and only if the predicted similarity is above :data:`HALF`, .5);
          ``off``, the absolute error of the mean predicted similarity; and ``gap``, the
          absolute difference of accuracy and fraction. Columns: ``model, fraction,
          seed, cosine, hit, from_facts, agrees, off, gap``.
        - ``sides``: a row per run and value of ``chain`` (``with identity`` if the
          predicted similarity is above .5, otherwise ``without``), with the same means.
          Columns: ``model, fraction, seed, chain, cosine, hit, from_facts, agrees``.
        - ``shown``: a row per run and value of ``column`` (``hit`` or ``cosine``), with
          its ``value``. Columns: ``model, fraction, seed, from_facts, column, value``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, fraction, seed, accuracy``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    trials = ["model", "fraction", "seed"]
    foreseen = pl.col("from_facts") > HALF
    asked = tables["margins"].select(
        *trials,
        one=pl.col("prompt").str.split(" ").list.first(),
        hit=(pl.col("margin") > 0).cast(pl.Float64),
    )
    foretold = tables["foretold"].select("fraction", "seed", "one", "from_facts")
    chains = (
        tables["resemblance"]
        .select(*trials, "one", "cosine")
        .join(asked, on=[*trials, "one"])
        .join(foretold, on=["fraction", "seed", "one"])
        .with_columns(
            chain=pl.when(foreseen)
            .then(pl.lit("with identity"))
            .otherwise(pl.lit("without")),
            agrees=(foreseen == (pl.col("hit") > 0.5)).cast(pl.Float64),
        )
    )
    # Means over chains come before means over seeds, because the chains of one world
    # are not independent.
    means = pl.col("cosine", "hit", "from_facts", "agrees").mean()
    worlds = chains.group_by(trials, maintain_order=True).agg(means)
    worlds = worlds.with_columns(
        off=(pl.col("cosine") - pl.col("from_facts")).abs(),
        gap=(pl.col("hit") - pl.col("fraction")).abs(),
    )
    return {
        "worlds": worlds,
        "sides": chains.group_by([*trials, "chain"], maintain_order=True).agg(means),
        "shown": worlds.unpivot(
            ["hit", "cosine"], index=[*trials, "from_facts"], variable_name="column"
        ),
        "memorised": memorised(tables["accuracy"], ("model", "fraction")),
    }


EACH = ("model", "fraction")
answered = share("sides", "hit").over(*EACH)
worlds = share("worlds", "agrees").over(*EACH)

SCORES = {
    "share-answered": worlds.of("gap") <= 0.03,
    "given-answered": answered.at(chain="with identity") >= 0.97,
    "others-not": answered.at(chain="without") <= 0.05,
    "each-chain-foreseen": worlds >= 0.97,
    "similarity-predicted": number("worlds", "off", model=tasks.ONE_LAYER).over(
        "fraction"
    )
    <= 0.02,
    "memorised": share("memorised", "accuracy").over(*EACH) >= 0.97,
}
