"""Our experiment: do predictions from the facts alone agree with trained models?"""

from functools import partial

import msgspec

import inweights as iw
from inweights import experiments
from inweights.audit.prediction.by_training import trained_queries
from inweights.config import check_size
from inweights.config.ranges import PositiveFloat, PositiveInt
from inweights.errors import check_names
from inweights.recipes.beyond import forecasters
from inweights.recipes.beyond.forecasters import (
    EVEN,
    PROGRAM,
    SOFT,
    TRAINING,
    TRIVIAL,
    UNEVEN,
)
from inweights.recipes.identity_bridge.common import EmbMLPTraining, GPTTraining
from inweights.theory import predicted_queries
from inweights.worlds.families.random_facts import RandomFacts

EMB_MLP = "Emb-MLP"
GPT = "GPT"
OTHERS = ("shared answers", "pairs", "several values", "three hops", "twice the size")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``predicted_composition.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number ``N`` of subjects of the two-hop worlds of permuted maps, at least 2.
        complexities: Complexities ``C`` (number of objects per subject, from 1 to
            ``n``) of these worlds. The first is used with identities of all, half and
            none of the bridges; the others are used only with identities of half of the
            bridges.
        drawn: Config of a world of random facts; each family of worlds changes some of
            these settings.
        popularity: One or more concentrations of the popularity of answers and
            subjects, each at least 0. A smaller value makes the popularity more uneven.
            The families named in ``others`` use the first value.
        others: Names of families of worlds that differ in relations, size or depth:
            ``shared answers``, ``pairs``, ``several values``, ``three hops``, ``twice
            the size``; by default all.
        knowledge: Names of sets of real facts, such as ``@people``; none by default.
        decays: Weight decays of the soft program: the first predicts the Emb-MLP, the
            second the GPT. The models themselves are trained without these decays. With
            a decay, the soft program resembles a training run that stops before it
            reaches the optimum of program (2).
        replicas: Number of replicas in the short training runs.
        tried: Factor, above 0, by which the numbers of updates of ``predict --by
            training`` are multiplied for the short training runs.
        emb_mlp: Settings of Emb-MLP and its training.
        gpt: Settings of the GPT and its training.
    """

    later = {"others": OTHERS, "tried": 1.0}

    n: int = 10
    complexities: tuple[int, ...] = (1,)
    drawn: RandomFacts = RandomFacts(told=0.75, identity=0.5)
    popularity: tuple[float, ...] = (0.7, 0.2)
    others: tuple[str, ...] = OTHERS
    knowledge: tuple[str, ...] = ()
    decays: tuple[float, float] = (3e-3, 1e-3)
    replicas: PositiveInt = 3
    tried: PositiveFloat = 1.0
    emb_mlp: EmbMLPTraining = EmbMLPTraining(rate=2.0, steps=6000)
    gpt: GPTTraining = GPTTraining(
        model=iw.GPTConfig(tied=False, layers=4),
        phase=iw.Phase(random_offset=True, schedule=iw.Schedule(kind="cosine")),
        tuned_width=64,
    )

    def worlds(self) -> dict[tuple[str, float], experiments.WorldConfig]:
        """Return the configs of all worlds, keyed by family and share of bridges with identities.

        Returns:
            Configs, keyed by pairs of a name and a share from 0 to 1, such as
            ``("popularity 0.7", 0.5)``, ``("permuted, C = 1", 1.0)`` or ``("real:
            people", 0.5)``.

        Raises:
            ConfigError: ``popularity`` is empty, a name in ``others`` is unknown, or a
                value is out of range for a world.
        """
        check_size("the number of values of popularity", len(self.popularity))
        of = partial(msgspec.structs.replace, self.drawn, identity=0.5)
        found: dict[tuple[str, float], experiments.WorldConfig] = {
            ("drawn evenly", 0.5): of()
        }
        for popularity in self.popularity:
            found[f"popularity {popularity:g}", 0.5] = of(popularity=popularity)
        of = partial(of, popularity=self.popularity[0])
        name = f"popularity {self.popularity[0]:g}"
        found |= {(name, share): of(identity=share) for share in (0.0, 1.0)}
        for place, c in enumerate(self.complexities):
            for share in (0.5,) if place else (0.0, 0.5, 1.0):
                found[f"permuted, C = {c}", share] = iw.TwoHop(
                    n=self.n, complexity=c, maps="permutation", identity=share
                )
        few = max(2, self.drawn.relations, self.drawn.bridges // 2)
        sizes = {
            n: 2 * getattr(self.drawn, n) for n in ("subjects", "bridges", "objects")
        }
        how: tuple[dict[str, int], ...] = (
            {"crossing": True},
            {"pairs": self.drawn.subjects // 4},
            {"several": 3},
            {"hops": 3, "bridges": few},
            sizes,
        )
        changes = dict(zip(OTHERS, how, strict=True))
        check_names("family", self.others, changes)
        found |= {(other, 0.5): of(**changes[other]) for other in self.others}
        for path in self.knowledge:
            for share in (0.5, 1.0):
                found[f"real: {path[1:]}", share] = iw.Triples(
                    path=path, identity=share
                )
        return found


#: Beginnings of the names of families on which replicas are also trained briefly.
_TRIED = ("drawn", "popularity 0.7")


def plan(settings: Settings) -> experiments.Plan:
    """Plan predictions for every query of every world, and the training of an Emb-MLP and a GPT.

    Args:
        settings: The recipe's settings, such as ``n``, ``complexities`` and ``drawn``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Labels of the trials: ``world`` (name of a family of :meth:`Settings.worlds`),
          ``identity`` (fraction of bridges with an identity: 0.5, 0, 1), and ``model``
          (Emb-MLP, GPT).
        - Measures: ``trained`` (:func:`inweights.probes.margins`) and ``accuracy``
          (:func:`inweights.probes.accuracy`).
        - Computations: ``predicted``
          (:func:`~inweights.theory.prediction.predict.predicted_queries`), ``softly``
          (:func:`~inweights.theory.prediction.predict.predicted_queries`) and ``tried``
          (:func:`~inweights.audit.prediction.by_training.trained_queries`), all for
          each seed: ``predicted`` by program (2) (Identity Bridge §4.3), ``softly`` by
          the soft program with a weight decay for each model, and ``tried`` (some
          families only) by short training runs.

    Raises:
        ConfigError: ``popularity`` is empty, a name in ``others`` is unknown, or a
            value is out of range for a world, a model or its training. Names in
            ``knowledge`` are not checked here, but when a world is built.
        DataError: A file of ``knowledge`` cannot be read.
    """
    models: dict[str, tuple[experiments.ModelConfig, iw.Curriculum]] = {
        EMB_MLP: (settings.emb_mlp.model, settings.emb_mlp.curriculum),
        GPT: (settings.gpt.model, iw.Curriculum(phases=(settings.gpt.phase,))),
    }
    trials = []
    computations = []
    for (family, fraction), world in settings.worlds().items():
        labels: dict[str, experiments.Value] = {"world": family, "identity": fraction}
        compute = partial(experiments.Computation, seeded=True, effort=100)
        asked = {"world": world, "answers": "several"}
        predict = partial(compute, compute=predicted_queries)
        computations.append(predict(name="predicted", labels=labels, options=asked))
        computations += [
            predict(
                name="softly",
                labels={**labels, "model": name},
                options={**asked, "decay": decay},
            )
            for name, decay in zip((EMB_MLP, GPT), settings.decays, strict=True)
        ]
        if fraction == 0.5 and family.startswith(_TRIED):
            how = {
                "world": world,
                "replicas": settings.replicas,
                "share": settings.tried,
            }
            tried = compute(
                name="tried", compute=trained_queries, labels=labels, options=how
            )
            computations.append(tried)
        trials += [
            experiments.Trial(
                labels={**labels, "model": name},
                world=world,
                model=model,
                learner=curriculum,
            )
            for name, (model, curriculum) in models.items()
        ]
    return experiments.Plan(
        trials=trials,
        computations=computations,
        measures=[
            experiments.Measure(name="trained", probe=iw.probes.margins),
            iw.probes.accuracy,
        ],
    )


derive = forecasters.derive

agrees = experiments.share("complexity_one", "agrees").over("model", "identity")
auc = experiments.share("auc", "auc").at(forecaster=PROGRAM)
error = experiments.share("by_world", "error")
program, soft, short = (error.at(forecaster=one) for one in (PROGRAM, SOFT, TRAINING))


def above(one: str, other: str, model: str) -> experiments.Score:
    """Return a score: the difference of the areas under the ROC curve of two predictors.

    Only worlds in which half of the bridges have identities are compared.

    Args:
        one: Name of the predictor, such as ``soft program``. The column ``pair`` of the
            table ``above`` must contain the string ``{one} above {other}``.
        other: Name of the predictor whose area is subtracted.
        model: Label of the trained model: ``Emb-MLP`` or ``GPT``.

    Returns:
        A score of the column ``gain``.
    """
    return experiments.number(
        "above", "gain", identity=0.5, model=model, pair=f"{one} above {other}"
    )


SCORES = {
    "complexity-one": agrees.at(identities="all or none") >= 0.999,
    "complexity-one-half": agrees.at(identities="some") >= 0.999,
    "auc-even-emb-mlp": auc.at(model=EMB_MLP, kind=EVEN) >= 0.8,
    "auc-even-gpt": auc.at(model=GPT, kind=EVEN) >= 0.85,
    "auc-uneven-emb-mlp": auc.at(model=EMB_MLP, kind=UNEVEN) >= 0.7,
    "auc-uneven-gpt": auc.at(model=GPT, kind=UNEVEN) >= 0.8,
    "expected-even-emb-mlp": program.at(model=EMB_MLP, kind=EVEN) <= 0.15,
    "expected-even-gpt": program.at(model=GPT, kind=EVEN) <= 0.15,
    "expected-uneven-gpt": program.at(model=GPT, kind=UNEVEN) <= 0.15,
    "stops-short": program.at(model=EMB_MLP, kind=UNEVEN) >= 0.15,
    "soft-expects-emb-mlp": soft.at(model=EMB_MLP) <= 0.1,
    "soft-expects-gpt": soft.at(model=GPT) <= 0.15,
    "short-expects-emb-mlp": short.at(model=EMB_MLP) <= 0.1,
    "short-expects-gpt": short.at(model=GPT) <= 0.1,
    "program-above-bridge-emb-mlp": above(PROGRAM, TRIVIAL, EMB_MLP) >= 0.02,
    "program-above-bridge-gpt": above(PROGRAM, TRIVIAL, GPT) >= 0.0,
    "soft-above-bridge-emb-mlp": above(SOFT, TRIVIAL, EMB_MLP) >= 0.1,
    "soft-above-bridge-gpt": above(SOFT, TRIVIAL, GPT) >= 0.0,
    "short-above-soft-emb-mlp": above(TRAINING, SOFT, EMB_MLP) >= -0.05,
    "short-above-soft-gpt": above(TRAINING, SOFT, GPT) >= -0.05,
    "memorised": experiments.share("memorised", "accuracy").at(fair=True).over("model")
    >= 0.99,
}
