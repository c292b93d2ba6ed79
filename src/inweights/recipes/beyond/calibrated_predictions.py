"""Our experiment: are predicted probabilities correct for families of worlds outside the fit?

The figures show the error of predicted probabilities and of simpler predictors, and a
reliability diagram.
"""

from functools import partial

import msgspec

import inweights as iw
from inweights import experiments
from inweights.audit.prediction.by_training import trained_queries
from inweights.config.ranges import NonNegativeInt, PositiveFloat, PositiveInt
from inweights.recipes.beyond import calibrating
from inweights.recipes.beyond.calibrating import (
    ALL,
    BASE,
    CALIBRATED,
    IDENTITY,
    PROGRAM,
)
from inweights.theory.prediction.calibration.fitted import MODELS
from inweights.worlds.families.random_facts import RandomFacts


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``calibrated_predictions.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        drawn: Config of a world of random facts; each family of worlds changes some of
            these settings.
        n: Number ``N`` of subjects of the two-hop worlds of permuted maps, at least 2.
        complexity: Complexity ``C`` (number of objects per subject) of the family
            ``complex``, from 1 to ``n``.
        families: Number of families to use, in the order of :meth:`worlds`; 0 for all
            16.
        replicas: Number of replicas of each model that are trained on each world.
        share: Factor by which the numbers of updates of ``predict --by training`` are
            multiplied, above 0; by default 1.
    """

    drawn: RandomFacts = RandomFacts(told=0.75, identity=0.5, popularity=0.7)
    n: int = 10
    complexity: int = 2
    families: NonNegativeInt = 0
    replicas: PositiveInt = 8
    share: PositiveFloat = 1.0

    def worlds(self) -> dict[str, experiments.WorldConfig]:
        """Return the config of one world per family, keyed by the name of the family.

        Returns:
            The first :attr:`families` of 16 worlds, or all of them if :attr:`families`
            is 0. Fourteen of them consist of random facts: ``skewed`` is the config
            :attr:`drawn`, and the other 13 are copies of it with one or more changed
            fields. The last two, ``permuted`` and ``complex``, are two-hop worlds of
            permuted maps with 1 and :attr:`complexity` objects per subject.

        Raises:
            ConfigError: The number of subjects :attr:`n` or :attr:`complexity` is out
                of range for a two-hop world, or a copy of :attr:`drawn` is invalid.
        """
        of = partial(msgspec.structs.replace, self.drawn)
        drawn = self.drawn
        some = max(1, drawn.bridges // 4)
        mixed = {
            "crossing": True,
            "pairs": some,
            "several": some,
            "hops": 3,
            "bridges": max(2, drawn.relations, drawn.bridges // 2),
        }
        sizes = {n: 2 * getattr(drawn, n) for n in ("subjects", "bridges", "objects")}
        found: dict[str, experiments.WorldConfig] = {
            "skewed": of(),
            "no identities": of(identity=0.0),
            "all identities": of(identity=1.0),
            "even": of(popularity=0.0),
            "long-tailed": of(popularity=0.2),
            "sparse": of(
                told=0.4, subjects=2 * drawn.subjects, bridges=2 * drawn.bridges
            ),
            "crossing": of(crossing=True),
            "symmetric": of(pairs=drawn.subjects // 4),
            "multi-valued": of(several=some),
            "three-hop": of(hops=3, bridges=mixed["bridges"]),
            "large": of(**sizes),
            "many relations": of(relations=2 * drawn.relations),
            "permuted": iw.TwoHop(n=self.n, maps="permutation", identity=0.5),
            "complex": iw.TwoHop(
                n=self.n, complexity=self.complexity, maps="permutation", identity=0.5
            ),
            "mixed": of(**mixed),
            "mixed, no identities": of(**mixed, identity=0.0),
        }
        kept = list(found)[: self.families or None]
        return {family: found[family] for family in kept}


def plan(settings: Settings) -> experiments.Plan:
    """Plan the training of an Emb-MLP and a GPT on every world, and the computation of features.

    Args:
        settings: The recipe's settings, such as ``drawn``, ``n`` and ``complexity``;
            :class:`Settings` describes each.

    Returns:
        The plan, with the computations ``answered``
        (:func:`~inweights.audit.prediction.by_training.trained_queries`: the share of
        trained replicas of an Emb-MLP and a GPT that answer each query correctly) and
        ``features`` (:func:`~inweights.recipes.beyond.calibrating.world_features`),
        both for each seed, with the label ``family``, the name of a world of
        :meth:`Settings.worlds`.

    Raises:
        ConfigError: ``n`` or ``complexity`` is out of range, or a change of ``drawn``
            does not define a world. The numbers of replicas and updates are not checked
            here, but when a computation is run.
    """
    computations = []
    for family, world in settings.worlds().items():
        compute = partial(
            experiments.Computation, labels={"family": family}, seeded=True
        )
        own = {"world": world}
        how = own | {"replicas": settings.replicas, "share": settings.share}
        computations += [
            compute(name="answered", compute=trained_queries, options=how, effort=9000),
            compute(
                name="features",
                compute=calibrating.world_features,
                options=own,
                effort=100,
            ),
        ]
    return experiments.Plan(trials=[], computations=computations, measures=[])


derive = calibrating.derive

brier = experiments.share("overall", "brier").at(predictor=CALIBRATED)
gain = experiments.number("gain", "gain")
within = experiments.share("within", "within")
EMB_MLP, GPT = MODELS

SCORES = {
    "brier-emb-mlp": brier.at(model=EMB_MLP) <= 0.12,
    "brier-gpt": brier.at(model=GPT) <= 0.15,
    "below-base-emb-mlp": gain.at(model=EMB_MLP, other=BASE) >= 0.0,
    "below-identity-emb-mlp": gain.at(model=EMB_MLP, other=IDENTITY) >= 0.0,
    "below-all-emb-mlp": gain.at(model=EMB_MLP, other=ALL) >= 0.0,
    "below-program-emb-mlp": gain.at(model=EMB_MLP, other=PROGRAM) >= 0.0,
    "below-base-gpt": gain.at(model=GPT, other=BASE) >= 0.0,
    "below-identity-gpt": gain.at(model=GPT, other=IDENTITY) >= 0.0,
    "below-all-gpt": gain.at(model=GPT, other=ALL) >= 0.0,
    "below-program-gpt": gain.at(model=GPT, other=PROGRAM) >= 0.0,
    "error-emb-mlp": within.at(model=EMB_MLP) >= 0.8,
    "error-gpt": within.at(model=GPT) >= 0.8,
}
