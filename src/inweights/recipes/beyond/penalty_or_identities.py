"""Our experiment: does a nuclear-norm penalty on the weights have the effect of identities?"""

from functools import partial

import polars as pl
from msgspec.structs import replace

import inweights as iw
from inweights.config.ranges import NonNegativeFloat
from inweights.experiments import (
    Curriculum,
    Measure,
    Plan,
    Trial,
    Value,
    number,
    share,
)
from inweights.recipes.beyond import penalties
from inweights.recipes.shared.derived import memorised

EMB_MLP = "Emb-MLP"
GPT = "GPT"
#: The same GPT without queries and keys: each position averages over itself and all
#: earlier positions.
UNIFORM = "GPT, uniform"
PROGRAM = "program (2)"
#: What is done besides training on hops.
NOTHING = "nothing"
DECAY = "weight decay"
ATTENTION = "penalty, attention"
ALL = "penalty, all"
IDENTITIES = "identities"
REMEDIES = (NOTHING, DECAY, ATTENTION, ALL, IDENTITIES)
PENALTIES = (ATTENTION, ALL)
#: Whether training also includes two-hop facts.
NONE = "none"
SOME = "some"
LABELS = ("model", "remedy", "compositions")


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``penalty_or_identities.toml``. A value of the wrong
    type raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Number of subjects, and also of bridges and of objects, in the world whose
            training data contain only single hops; at least 2.
        shared: Config of the world in which training includes some two-hop facts.
        emb_mlp: Width of the Emb-MLP, at least 1.
        emb_steps: Number of updates of the Emb-MLP.
        gpt: Config of the GPT.
        steps: Number of updates of the GPT on hops alone.
        long: Number of updates of the GPT if training includes two-hop facts.
        decay: Weight decay of the GPT in the condition ``weight decay``. All other
            conditions use .01.
        emb_decay: Weight decay of the Emb-MLP in the condition ``weight decay``. All
            other conditions use 0.
        on_templates: Factor of the penalty on the templates of the Emb-MLP.
        on_attention: Factor of the penalty on the query and key matrices of the GPT.
        on_matrices: Factor of the penalty on all matrices of the GPT.
    """

    n: int = 20
    shared: iw.TwoHop = iw.TwoHop(
        n=20,
        first_relations=2,
        second_relations=4,
        maps="sampled",
        bridges=6,
        trained=0.3,
        unseen=0.3,
    )
    emb_mlp: int = 64
    emb_steps: int = 5000
    gpt: iw.GPTConfig = iw.GPTConfig(layers=4, tied=False)
    steps: int = 280
    long: int = 1200
    decay: float = 1.0
    emb_decay: float = 1e-3
    on_templates: NonNegativeFloat = 1e-3
    on_attention: NonNegativeFloat = 1e-4
    on_matrices: NonNegativeFloat = 1e-4


def plan(settings: Settings) -> Plan:
    """Plan training with each remedy, and solutions of program (2) of Identity Bridge.

    Args:
        settings: The recipe's settings, such as ``n``, ``gpt`` and ``on_attention``;
            :class:`Settings` describes each.

    Returns:
        The plan.

        - Labels of the trials: ``model`` (Emb-MLP; GPT; ``GPT, uniform``: attention
          without queries and keys; ``program (2)``: the optimum of Identity Bridge
          §4.3, without training), ``remedy`` (``nothing``; ``weight decay``; ``penalty,
          attention``: on the nuclear norms of queries and keys; ``penalty, all``: on
          the nuclear norms of all matrices; ``identities``), and ``compositions``
          (two-hop facts used for training: ``none``, ``some``).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), ``ranks``
          (:func:`~inweights.recipes.beyond.penalties.attention_ranks`; only of the GPT)
          and ``direction`` (:func:`inweights.probes.direction`; only of Emb-MLP).

    Raises:
        ConfigError: ``n`` is below 2, a number of updates is negative, or a width or
            decay is out of range.
    """
    trials = []
    for remedy in REMEDIES:
        hops = iw.TwoHop(n=settings.n, identity=remedy == IDENTITIES)
        if remedy in (NOTHING, IDENTITIES):
            learner: iw.Optimum | Curriculum = iw.Optimum()
            trials.append(
                Trial(labels=_labels(PROGRAM, remedy), world=hops, learner=learner)
            )
        if remedy != ATTENTION:  # it has none
            trials.append(
                Trial(
                    labels=_labels(EMB_MLP, remedy),
                    world=hops,
                    model=iw.EmbMLPConfig(width=settings.emb_mlp),
                    learner=_of_emb_mlp(settings, remedy),
                )
            )
        shared = replace(settings.shared, identity=remedy == IDENTITIES)
        models = {GPT: settings.gpt}
        if remedy == NOTHING:
            models[UNIFORM] = replace(settings.gpt, attention="uniform")
        for name, model in models.items():
            for world, compositions in ((hops, NONE), (shared, SOME)):
                trials.append(
                    Trial(
                        labels=_labels(name, remedy, compositions),
                        world=world,
                        model=model,
                        learner=_of_gpt(settings, remedy, compositions),
                    )
                )
    return Plan(
        trials=trials,
        measures=[
            Measure(name="accuracy", probe=iw.probes.accuracy),
            Measure(
                name="ranks", probe=penalties.attention_ranks, where={"model": GPT}
            ),
            Measure(
                name="direction", probe=iw.probes.direction, where={"model": EMB_MLP}
            ),
        ],
    )


def _labels(model: str, remedy: str, compositions: str = NONE) -> dict[str, Value]:
    return {"model": model, "remedy": remedy, "compositions": compositions}


def _of_emb_mlp(settings: Settings, remedy: str) -> Curriculum:
    decay = settings.emb_decay if remedy == DECAY else 0.0
    curriculum = iw.learners.two_hop_mlp(steps=settings.emb_steps, weight_decay=decay)
    if remedy != ALL:
        return curriculum
    penalty = partial(penalties.on_templates, weight=settings.on_templates)
    return Curriculum(phases=(replace(curriculum.phases[0], penalty=penalty),))


def _of_gpt(settings: Settings, remedy: str, compositions: str) -> Curriculum:
    roles = ["first_hop", "second_hop"]
    roles += ["identity"] * (remedy == IDENTITIES)
    roles += ["two_hop"] * (compositions == SOME)
    curriculum = iw.learners.two_hop(
        settings.gpt.width,
        steps=settings.long if compositions == SOME else settings.steps,
        roles=dict.fromkeys(roles, 1.0),
    )
    phase = curriculum.phases[0]
    if remedy == DECAY:
        strong = replace(phase.optimizer, weight_decay=settings.decay)
        phase = replace(phase, optimizer=strong)
    if remedy == ATTENTION:
        penalty = partial(penalties.on_attention, weight=settings.on_attention)
        phase = replace(phase, penalty=penalty)
    if remedy == ALL:
        penalty = partial(penalties.on_matrices, weight=settings.on_matrices)
        phase = replace(phase, penalty=penalty)
    return Curriculum(phases=(phase,))


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return accuracies on two-hop queries and facts, and the effect of each remedy on the weights.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``ranks``
            (:func:`~inweights.recipes.beyond.penalties.attention_ranks`: ``rank,
            norm``), and ``direction`` (:func:`inweights.probes.direction`: ``cosine,
            least_margin, excess, query_margin, expected``). All have the columns
            ``model, remedy, compositions, seed``. The labels are ``model`` (Emb-MLP;
            GPT; ``GPT, uniform``: attention without queries and keys; ``program (2)``:
            the optimum of Identity Bridge §4.3, without training), ``remedy``
            (``nothing``; ``weight decay``; ``penalty, attention``: on the nuclear norms
            of queries and keys; ``penalty, all``: on the nuclear norms of all matrices;
            ``identities``), and ``compositions`` (two-hop facts used for training:
            ``none``, ``some``). Accuracies and recall are fractions from 0 to 1.

    Returns:
        - ``composed``: a row per run, role and distribution of the two-hop queries,
          with the accuracy on them. Columns: all columns of ``accuracy``.
        - ``memorised``: a row per run, with the lowest ``accuracy`` over the roles
          (kinds) of facts. Columns: ``model, remedy, compositions, seed, accuracy``.
        - ``ranks``: a row per run of the GPT: the mean effective ``rank`` and the mean
          nuclear ``norm`` of its query and key matrices, and these values divided by
          the values of the run without a remedy (``rank_left``, ``norm_left``).
          Columns: all columns of the measured ``ranks``, plus ``rank_left, norm_left``.
        - ``direction``: the measured table, unchanged.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    accuracy = tables["accuracy"]
    ranks = tables["ranks"]
    bare = ranks.filter(pl.col("remedy") == NOTHING).select(
        "model",
        "compositions",
        "seed",
        bare_rank="rank",
        bare_norm="norm",
    )
    beside = ranks.join(
        bare, on=["model", "compositions", "seed"], maintain_order="left"
    ).with_columns(
        rank_left=pl.col("rank") / pl.col("bare_rank"),
        norm_left=pl.col("norm") / pl.col("bare_norm"),
    )
    return {
        "composed": accuracy.filter(pl.col("part") == "queries"),
        "memorised": memorised(accuracy, LABELS),
        "ranks": beside.drop("bare_rank", "bare_norm"),
        "direction": tables["direction"],
    }


composed = share("composed", "accuracy")
alone = composed.at(compositions=NONE, role="composition")
some = composed.at(model=GPT, compositions=SOME)
uniform = composed.at(model=UNIFORM, compositions=SOME)
ranks = number("ranks", "rank_left", model=GPT)
excess = number("direction", "excess")

SCORES = {
    "facts-are-known": share("memorised", "accuracy").over(*LABELS) >= 0.99,
    "ranks-collapse": ranks.at(remedy=ATTENTION, compositions=NONE) <= 0.5,
    "ranks-do-not-by-decay": ranks.at(remedy=DECAY, compositions=NONE) >= 0.8,
    "penalty-nears-the-optimum": excess.at(remedy=NOTHING) - excess.at(remedy=ALL)
    >= 0.1,
    "optimum-does-not-compose": alone.at(model=PROGRAM, remedy=NOTHING) <= 0.15,
    "penalty-does-not-compose": alone.at(remedy=ALL).over("model") <= 0.15,
    "penalty-on-attention-does-not-compose": alone.at(model=GPT, remedy=ATTENTION)
    <= 0.15,
    "identities-compose": alone.at(remedy=IDENTITIES).over("model") >= 0.8,
    "fewer-two-hop-facts-suffice": some.at(remedy=ATTENTION, role="composition")
    - some.at(remedy=DECAY, role="composition")
    >= 0.02,
    "identities-help-more": some.at(remedy=IDENTITIES, role="both_unseen")
    - some.at(remedy=ATTENTION, role="both_unseen")
    >= 0.1,
    "uniform-attention-gains": uniform.at(role="second_unseen")
    - some.at(remedy=NOTHING, role="second_unseen")
    >= 0.1,
}
