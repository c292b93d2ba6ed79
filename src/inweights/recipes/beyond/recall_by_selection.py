"""Our experiment: how wide must a layer be to recall bijections, and what does its MLP do?"""

from copy import deepcopy
from itertools import product
from typing import Any

import numpy as np
import polars as pl

import inweights as iw
from inweights.config import Config, replace_at
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, Trial, number, share
from inweights.seeds import WORLD, Streams
from inweights.worlds import Vocabulary, World

SWEPT = "swept"
KNOWN = "known"
NEW = "new embeddings"
RANDOM = "new embeddings, random block"
#: Recall from which on it counts as full.
FULL = 0.99


class Bijections(Config, tag_field="kind", tag="bijections"):
    """Config of a world of random bijections that map known and new subjects to attributes.

    A value of the wrong type raises a ``ConfigError``. Numbers below 1 are not
    rejected.

    Attributes:
        n: Number of known subjects, which is also the number of new subjects and the
            number of attributes; by default 64.
        relations: Number of relations, each of which is a bijection; by default 4.
    """

    n: int = 64
    relations: int = 4

    def build(self, seed: int = 0) -> World:
        """Draw a world in which each relation is a random bijection from subjects to attributes.

        Args:
            seed: Root seed of the bijections, at least 0; by default 0.

        Returns:
            A world of facts ``(subject, relation) → attribute`` with the roles
            ``known`` (about known subjects) and ``new`` (about new subjects), without
            queries.

        Raises:
            ConfigError: ``seed`` is negative, or 2⁶³ or larger.
            ValueError: ``n``, the number of attributes, is negative, or ``relations``,
                the number of relations, is below 1.
        """
        rng = Streams(seed).numpy(WORLD, "bijections")
        groups = {
            "known": self.n,
            "new": self.n,
            "attribute": self.n,
            "relation": self.relations,
        }
        names = {}
        for group, size in groups.items():
            names[group] = [f"{group[0]}{i}" for i in range(size)]
        words = Vocabulary(names)
        facts = {}
        for role in ("known", "new"):
            subjects = np.tile(words[role], self.relations)
            answers = [rng.permutation(words["attribute"]) for _ in words["relation"]]
            prompts = np.stack([subjects, np.repeat(words["relation"], self.n)], axis=1)
            facts[role] = prompts, np.concatenate(answers)[:, None]
        return World.of(self, seed, words, facts, {})


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``recall_by_selection.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        sizes: Numbers of known subjects, each of which is also the number of
            attributes; at least 1.
        widths: Widths of the models for every number of subjects in ``sizes``.
        relations: Number of relations in the worlds of these models, at least 1.
        transferred: Config of the world in which the model is trained on known subjects
            and then on new ones.
        width: Width of the models that learn known and new subjects.
        decay: Weight decay of the models that learn known and new subjects.
        steps: Number of updates in each phase.
        rate: Peak learning rate, above 0.
    """

    sizes: tuple[PositiveInt, ...] = (8, 32, 128)
    widths: tuple[int, ...] = (3, 4, 5, 6, 7, 8, 10, 12)
    relations: PositiveInt = 4
    transferred: Bijections = Bijections(n=128, relations=2)
    width: int = 16
    decay: float = 1.0
    steps: int = 1000
    rate: float = 1e-2


def plan(settings: Settings) -> Plan:
    """Plan training for every number of subjects and every width, and training on new subjects.

    Args:
        settings: The recipe's settings, such as ``sizes``, ``widths`` and
            ``relations``; :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Labels of the trials: ``n`` (number of subjects: 8, 32, 128), ``width`` (of
          the model), and ``arm`` (``swept``: training on known subjects, at every
          width; ``known``: the same at a single width; ``new embeddings``: as
          ``known``, followed by training of only the embeddings of new subjects; ``new
          embeddings, random block``: the same with a random frozen block).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`) and ``transferred``
          (:func:`~inweights.recipes.beyond.recall_by_selection.superposed`; only if
          ``arm`` is ``known``).

    Raises:
        ConfigError: A width, the rate or the decay is out of range, or ``steps`` is
            negative.
    """
    worlds = [Bijections(n=n, relations=settings.relations) for n in settings.sizes]
    trials = [
        _trial(settings, world, width)
        for world, width in product(worlds, settings.widths)
    ]
    trials += [
        _trial(settings, settings.transferred, settings.width, arm)
        for arm in (KNOWN, NEW, RANDOM)
    ]
    again = Measure(name="transferred", probe=superposed, where={"arm": KNOWN})
    return Plan(trials=trials, measures=[iw.probes.accuracy, again])


def _trial(
    settings: Settings, world: Bijections, width: int, arm: str = SWEPT
) -> Trial:
    known = iw.Phase(
        roles={"known": 1.0},
        steps=settings.steps,
        freezes=("blocks.*",) if arm == RANDOM else (),
        optimizer=iw.Optimizer(
            rate=settings.rate, weight_decay=0.0 if arm == SWEPT else settings.decay
        ),
        schedule=iw.Schedule(kind="cosine", warmup=20),
    )
    changes = {"roles": {"new": 1.0}, "moves": ("tokens.*",), "freezes": ()}
    new = replace_at(known, changes | {"optimizer.weight_decay": 0.0})
    model = iw.GPTConfig(
        layers=1,
        width=width,
        heads=1,
        tied=False,
        context=2,
        init=iw.Init(gamma=0.5),
    )
    return Trial(
        labels={"n": world.n, "width": width, "arm": arm},
        world=world,
        model=model,
        learner=iw.Curriculum(
            phases=(known, new) if arm in (NEW, RANDOM) else (known,)
        ),
    )


@iw.experiments.shows(
    value="zero_shot",
    columns="explained zero_shot",
    label="recall of new facts",
    null="Embeddings at random recall one fact in n.",
    caption="The embeddings of new subjects are computed by a fit to those of known subjects.",
    low=0.0,
    high=1.0,
)
def superposed(model: Any, worlds: Any) -> pl.DataFrame:
    """Measure how well a linear map from the head's vectors predicts the embeddings of subjects.

    Args:
        model: A GPT with ``R`` replicas and an untied head; this is not checked.
        worlds: One world of :class:`Bijections` for each replica.

    Returns:
        One row per replica, with the columns ``replica``; ``explained``, the share of
        the variance of the known subjects' embeddings that is explained by a linear map
        of the head's vectors of their attributes (at most 1, possibly negative;
        eight-fold cross-validation); and ``zero_shot``, the recall of facts about new
        subjects if this map computes their embeddings. The model is not changed.
    """
    import torch

    changed = deepcopy(model)
    explained = []
    for replica, world in enumerate(worlds):
        head = model.head.weight.detach()[replica].double().numpy().T
        tokens = changed.tokens.weight.data[replica]
        known, new = (_attributes(world, head, role) for role in ("known", "new"))
        learnt = tokens[torch.from_numpy(world.vocabulary["known"])].double().numpy()
        # Each eighth of the subjects is predicted by a fit to the other seven, so that
        # the explained share is measured on subjects outside the fit.
        eighth = np.arange(len(learnt)) % 8
        left = [
            learnt[eighth == k]
            - known[eighth == k] @ _fit(known[eighth != k], learnt[eighth != k])
            for k in range(8)
        ]
        explained.append(
            1 - (np.concatenate(left) ** 2).mean() / learnt.var(axis=0).mean()
        )
        computed = torch.from_numpy(new @ _fit(known, learnt))
        tokens[torch.from_numpy(world.vocabulary["new"])] = computed.to(tokens.dtype)
    recalled = iw.probes.accuracy(changed, worlds).filter(role="new")
    return recalled.select(
        "replica", pl.Series("explained", explained), zero_shot="accuracy"
    )


def _attributes(world: World, head: np.ndarray, role: str) -> np.ndarray:
    """Return the head's vectors of each subject's attributes, concatenated, and a constant 1."""
    _, answers = world.facts.matrix(world.facts.with_role(role))
    led = answers.reshape(len(world.vocabulary["relation"]), -1)
    return np.column_stack([*head[led], np.ones(led.shape[1])])


def _fit(attributes: np.ndarray, embeddings: np.ndarray) -> np.ndarray:
    """Return the coefficients of a ridge regression."""
    moment = attributes.T @ attributes
    # Proportional to the mean eigenvalue, so that the scale of the vectors has no
    # effect.
    ridge = 1e-3 * np.trace(moment) / len(moment) * np.eye(len(moment))
    return np.asarray(np.linalg.solve(moment + ridge, attributes.T @ embeddings))


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the recall of every run, and the smallest width that suffices for full recall.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``) and ``transferred``
            (:func:`~inweights.recipes.beyond.recall_by_selection.superposed`:
            ``explained, zero_shot``). Both have the columns ``n, width, arm, seed``.
            The labels are ``n`` (number of subjects: 8, 32, 128), ``width`` (of the
            model), and ``arm`` (``swept``: training on known subjects, at every width;
            ``known``: the same at a single width; ``new embeddings``: as ``known``,
            followed by training of only the embeddings of new subjects; ``new
            embeddings, random block``: the same with a random frozen block). Accuracies
            and recall are fractions from 0 to 1.

    Returns:
        - ``swept``: a row per run: ``recall`` (accuracy, 0 to 1) of the known facts;
          ``subjects`` is a string with the size, such as ``32 subjects``. Columns: ``n,
          width, arm, seed, role, recall, subjects``.
        - ``needed``: a row per size and seed: the smallest ``width`` with a recall of
          .99 or more (twice the largest width if there is none), and ``growth``, this
          width divided by the width needed at the smallest size. Columns: ``n, seed,
          width, growth``.
        - ``recall``: a row per role (``known``, ``new``) and run of the arms other than
          ``swept``, with its ``recall``. Columns: as in ``swept``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    recall = tables["accuracy"].select(
        "n", "width", "arm", "seed", "role", recall="accuracy"
    )
    swept = recall.filter(arm=SWEPT, role="known")
    full = pl.col("width").filter(pl.col("recall") >= FULL).min()
    needed = swept.group_by("n", "seed", maintain_order=True).agg(
        width=full.fill_null(2 * pl.col("width").max()).cast(pl.Float64)
    )
    least = pl.col("width").sort_by("n").first().over("seed")
    return {
        "swept": swept.with_columns(subjects=pl.format("{} subjects", "n")),
        "needed": needed.with_columns(growth=pl.col("width") / least),
        "recall": recall.filter(pl.col("arm") != SWEPT).with_columns(
            subjects=pl.format("{} known subjects, and as many new ones", "n")
        ),
    }


recalled = share("recall", "recall")

SCORES = {
    "known-facts": recalled.at(role="known", arm=KNOWN) >= 0.99,
    "logarithmic-width": number("needed", "growth", n=128) <= 3.0,
    "superposition": number("transferred", "explained") >= 0.5,
    "zero-shot": share("transferred", "zero_shot") >= 0.8,
    "new-embeddings": recalled.at(role="new", arm=NEW) >= 0.9,
    "a-random-block-does-it": (
        recalled.at(role="new", arm=NEW) - recalled.at(role="new", arm=RANDOM)
    ).within(-0.1, 0.1),
}
