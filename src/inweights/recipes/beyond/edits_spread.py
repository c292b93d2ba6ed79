"""Our experiment: does an edit spread to a class, along an edge, or to its reversal?"""

from typing import Any

import polars as pl

import inweights as iw
from inweights.config import replace_at
from inweights.config.ranges import PositiveInt
from inweights.experiments import Measure, Plan, Trial, cosine, share
from inweights.recipes.shared.derived import memorised
from inweights.worlds.families.analogy import Analogy
from inweights.worlds.families.graphs.graph import Graph
from inweights.worlds.families.reversal import Reversal

HOPS = "hops"
ALONE = "hops, no identities"
MEMORY = "hops, memory"
CLASSES = "classes"
REVERSALS = "reversals"
TIED = "cycle, tied"
UNTIED = "cycle, untied"
SINGLE = (RANK_ONE, TRAINING, EMBEDDING) = ("rank-one", "training", "embedding")
EARLY = "rank-one, first block"
#: Roles of facts whose edits should also change other answers, by method. A rank-one
#: update should change answers to prompts with the same key and the same answer; a
#: changed embedding should change answers to prompts that contain the entity.
FOLLOWS = {
    RANK_ONE: ("second_hop", "attribution"),
    EMBEDDING: ("first_hop", "similarity"),
}


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``edits_spread.toml``. A value of the wrong type
    raises a ``ConfigError``; :func:`plan` checks most ranges.

    Attributes:
        n: Size of each world except the cycle, at least 5: the number of chains
            (``hops``), of tuples (``classes``) or of pairs of names (``reversals``).
        model: Config of the GPT that learns hops, classes and reversals.
        node: Config of the GPT that learns the cycle, with a tied head.
        most: Number of facts that are edited: all together in the measure ``rank-one,
            at once``, one at a time in all other measures.
    """

    n: int = 20
    model: iw.GPTConfig = iw.GPTConfig(layers=4, width=64, tied=False)
    node: iw.GPTConfig = iw.GPTConfig(layers=1, width=32)
    most: PositiveInt = 8


def plan(settings: Settings) -> Plan:
    """Plan training in every world, and edits of one fact or of several facts at once.

    Args:
        settings: The recipe's settings, such as ``n``, ``model`` and ``node``;
            :class:`Settings` describes each.

    Returns:
        The plan. The label values listed below are those of the default settings.

        - Label of the trials: ``world`` (``hops``: two hops with identities; ``hops, no
          identities``; ``hops, memory``: without identities, learnt by a GPT with 128
          memory slots; ``classes``: an analogy; ``reversals``; ``cycle, tied`` and
          ``cycle, untied``: a cycle of 16 nodes, learnt by a GPT with a tied or an
          untied head).
        - Measures: ``accuracy`` (:func:`inweights.probes.accuracy`), and one measure
          per kind of edit and role of the edited fact, such as ``rank-one; first_hop``
          (:func:`inweights.probes.edits`).

        Kinds of edit are ``rank-one``, ``training``, ``embedding``, ``rank-one, at
        once`` (``most`` facts together) and ``rank-one, first block`` (an edit of the
        first block). The last two are used only in the world ``hops``.

    Raises:
        ConfigError: ``n`` is below 5 (the number of classes), or a value is out of
            range for a model.
    """
    n = settings.n
    model = settings.model
    node = settings.node
    hops = iw.TwoHop(n=n, maps="permutation", trained=0.95)
    cycle = Graph(shape="cycle", n=16)
    alone = replace_at(hops, {"identity": False})
    two = ("first_hop", "second_hop")
    classes = Analogy(n=n, categories=5, maps="permutation")
    edited: dict[str, tuple[Any, iw.GPTConfig, tuple[str, ...]]] = {
        HOPS: (hops, model, two),
        ALONE: (alone, model, two),
        MEMORY: (alone, replace_at(model, {"memory": 128}), two),
        CLASSES: (classes, model, ("attribution", "similarity")),
        REVERSALS: (Reversal(n=n, told=n // 2, phrased=True), model, ("edge",)),
        TIED: (cycle, node, ("edge",)),
        UNTIED: (cycle, replace_at(node, {"tied": False}), ("edge",)),
    }
    slow = {"steps": 200, "rate": 0.01}
    more: dict[str, dict[str, Any]] = {
        EMBEDDING: slow,
        "rank-one, at once": {"at_once": settings.most},
    }
    more[EARLY] = {"layer": 0, **slow}
    trials = []
    measures = [Measure(name="accuracy", probe=iw.probes.accuracy)]
    for name, (world, config, roles) in edited.items():
        learner = iw.learners.named_for(world, config)
        trials.append(
            Trial(
                labels={"world": name},
                world=world,
                model=config,
                learner=learner,
            )
        )
        methods = {HOPS: (*SINGLE, *more), MEMORY: (TRAINING,)}.get(name, SINGLE)
        for method in dict.fromkeys(methods):
            options = {
                "method": method.split(",")[0],
                "most": settings.most,
                **more.get(method, {}),
            }
            measures += [
                Measure(
                    name=f"{method}; {role}",
                    probe=iw.probes.edits,
                    options={"role": role, **options},
                    where={"world": name},
                )
                for role in roles
            ]
    return Plan(trials=trials, measures=measures)


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return all edits in one table, and how well the overlap of keys predicts their effects.

    Args:
        tables: The tables that result from :func:`plan`, by name (a run is one trial
            with one seed): ``accuracy`` (:func:`inweights.probes.accuracy`: ``part,
            role, distribution, statements, accuracy, accuracy_among, chance, loss,
            right_answers``), ``rank-one; first_hop`` (:func:`inweights.probes.edits`:
            ``holds, reached, unmoved, facts, others, overlap, apart``) and 18 more
            tables of this kind, with the same columns, named by method and role. All
            have the columns ``world, seed``. The label is ``world`` (``hops``: two hops
            with identities; ``hops, no identities``; ``hops, memory``: without
            identities, learnt by a GPT with 128 memory slots; ``classes``: an analogy;
            ``reversals``; ``cycle, tied`` and ``cycle, untied``: a cycle of 16 nodes,
            learnt by a GPT with a tied or an untied head). Accuracies and recall are
            fractions from 0 to 1.

    Returns:
        - ``edits``: a row per run, ``method`` and ``role``, with the columns of
          :func:`inweights.probes.edits`; ``edited`` (a string that names the world and
          the role), ``moved`` (1 minus ``unmoved``), and ``follows`` (Boolean: whether
          the edit should also change answers other than the edited one). Columns: all
          columns of ``rank-one; first_hop``, plus ``method, role, edited, moved,
          follows``.
        - ``silent``: the rows of ``edits`` for edits with the methods ``rank-one`` and
          ``embedding`` that should change no other answer (``follows`` is false),
          except those on the tied cycle. Columns: as in ``edits``.
        - ``sound``: a row per seed and value of ``what`` (edited fact and method), with
          ``holds``, the share of edits that succeed. There is also a row per seed and
          world (except the cycles), in which ``holds`` is the accuracy on the world's
          facts before the edits. Columns: ``seed, holds, what``.
        - ``predicted``: a row per seed: Pearson's correlations of ``overlap`` (of the
          keys, the inputs of the MLP's output matrix) with ``moved`` and with
          ``reached``, over rank-one edits. Columns: ``seed, moved, reached``.
        - ``drawn``: a row per run, method (``rank-one``, ``training``, ``embedding``)
          and ``what`` (``reached``, ``facts``, ``overlap``), with its ``share``.
          Columns: ``edited, method, seed, what, share``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    parts = []
    for name, table in tables.items():
        method, _, role = name.partition("; ")
        if not role:
            continue  # such a table contains the accuracy before any edit
        marked = table.with_columns(
            method=pl.lit(method),
            role=pl.lit(role),
            edited=pl.format("{}: {}", "world", pl.lit(role.replace("_", " "))),
            moved=1 - pl.col("unmoved"),
            follows=pl.lit(role in FOLLOWS.get(method, ())),
        )
        parts.append(marked)
    edits = pl.concat(parts)
    known = memorised(tables["accuracy"], ["world"]).filter(
        ~pl.col("world").str.contains("cycle")
    )
    held = edits.select("seed", "holds", what=pl.format("{}, {}", "edited", "method"))
    foretold = pl.col("method").is_in(FOLLOWS) & (pl.col("world") != TIED)
    columns = ["reached", "facts", "overlap"]
    keys = ["edited", "method", "seed"]
    drawn = edits.filter(pl.col("method").is_in(SINGLE)).unpivot(columns, index=keys)
    return {
        "edits": edits,
        "silent": edits.filter(foretold & ~pl.col("follows")),
        "sound": pl.concat(
            [held, known.select("seed", holds="accuracy", what="world")]
        ),
        "predicted": edits.filter(method=RANK_ONE)
        .group_by("seed", maintain_order=True)
        .agg(moved=pl.corr("overlap", "moved"), reached=pl.corr("overlap", "reached")),
        "drawn": drawn.rename({"variable": "what", "value": "share"}),
    }


found = share("edits", "reached")
trained = found.at(method=TRAINING)
moved = found.at(method=EMBEDDING)
recalled = trained.at(world=MEMORY).over("role")

SCORES = {
    "known-and-held": share("sound", "holds").over("what") >= 0.95,
    "class-follows": found.at(method=RANK_ONE, role="attribution") >= 0.8,
    "moved-embeddings-carry-on": moved.at(follows=True).over("edited") >= 0.8,
    "early-first-hop-carries-on": found.at(method=EARLY, role="first_hop") >= 0.8,
    "nothing-else-follows": share("silent", "reached").over("edited", "method") <= 0.1,
    "tied-head-turns-edges": moved.at(world=TIED) >= 0.3,
    "reversals-follow": found.at(world=REVERSALS).over("method") >= 0.5,
    "memory-propagates-more": recalled - trained.at(world=ALONE) >= 0.3,
    "overlap-predicts-what-moves": cosine("predicted", "moved") >= 0.8,
}
