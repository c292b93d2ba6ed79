"""Test whether a continuous thought represents all nodes that a graph search has reached.

This is an example of how to test the claims of a paper outside of the package, with a
ledger and a results table of their own. The module defines a world
(:class:`Reachability`), a model (:func:`thinker`), two probes (:func:`answered` and
:func:`held`) and a recipe. The recipe's claims and figures are in ``frontier.toml``.
Run it with

    inweights run superposition/frontier --plugin examples/superposition/frontier.py
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

# ``inweights.lab`` is the former name of ``inweights.experiments``. The ledger contains
# hashes of this code, imports included; new modules should use the new name.
import inweights as iw
from inweights.config import Config, decode, replace_at
from inweights.lab import Measure, Plan, Trial, number, read_recipe, share
from inweights.seeds import WORLD, Streams
from inweights.worlds import Vocabulary, World
from inweights.worlds.arrays import Floats, Ids

#: Kinds of steps between question and answer: no steps, uninformative tokens, the nodes
#: of the path as tokens, or continuous thoughts.
NONE, PAUSE, PATH, THOUGHT = "nothing", "pause", "path", "thought"
#: Replacements for a thought in an evaluation: the embedding of its most likely node, or
#: the thought of another graph.
COLLAPSED, SWAPPED = "collapsed", "swapped"
#: Names of the tokens that are not nodes, in the order of their ids.
MARKS = ("candidate", "root", "answer", PAUSE, THOUGHT, COLLAPSED, SWAPPED)
#: Nodes at most ``i`` edges from the root, for the ``i``-th thought, and all other nodes.
REACHED, BEYOND = "reached", "not reached"
#: The reached nodes: the ``i``-th node of the path, the other nodes that are ``i`` edges
#: from the root, and the nodes that are fewer edges from it.
ON_PATH, FRONTIER, EARLIER = "on the path", "others of the frontier", "earlier"


class Reachability(Config, tag_field="kind", tag="reachability"):
    """Questions about graphs: which of two candidate nodes can be reached from the root?

    Each graph consists of two trees with the same number of nodes at each level. The
    root of the question is the root of one tree; one candidate is a leaf of this tree,
    the other a leaf of the second tree. The ids of the nodes and the order of the edges
    and candidates are random.

    A question consists of pairs of tokens: source and target of each edge, then each
    candidate with the token ``candidate``, then the root with the token ``root``. After
    the question, every token is written twice, so that it is a pair as well.

    Attributes:
        levels: Number of edges from the root of a tree to its leaves, at least 1; also
            the number of steps between question and answer, unless there are none.
        branches: Number of nodes at each level below a root, at least 1. The parent of
            each node is drawn from the nodes of the previous level.
        graphs: Number of graphs in the facts, at least 1.
        held_out: Number of graphs in the queries, at least 1.
        between: Kind of steps between question and answer in the facts: ``nothing``,
            ``pause`` (uninformative tokens), ``path`` (the nodes of the path from the
            root to the correct candidate) or ``thought`` (continuous thoughts).
    """

    levels: int = 3
    branches: int = 2
    graphs: int = 20_000
    held_out: int = 500
    between: Literal["nothing", "pause", "path", "thought"] = "thought"

    @property
    def nodes(self) -> int:
        """Number of nodes of a graph; their token ids are smaller than this number."""
        return 2 * (1 + self.levels * self.branches)

    @property
    def asked(self) -> str:
        """Kind of steps in the queries: that in the facts, but ``collapsed`` for ``path``.

        A model that is trained with paths thus generates its own path in the queries:
        each step is the embedding of the most likely node.
        """
        return COLLAPSED if self.between == PATH else self.between

    def token(self, mark: str) -> int:
        """Return the token id of one of the :data:`MARKS`.

        Raises:
            ValueError: There is no such mark.
        """
        return self.nodes + MARKS.index(mark)

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines all graphs and the order of their edges.

        The correct answer to a fact with the role ``step i`` is the ``i``-th node of
        the path, after ``i - 1`` steps. The correct answer to a fact or query with the
        role ``answer`` is the reachable candidate, after all steps and the token
        ``answer``. If there are no steps, all facts have the role ``answer``.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The seed is out of range.
        """
        words = Vocabulary(
            {"node": [f"n{i}" for i in range(self.nodes)], "mark": MARKS}
        )
        taught, held_out = (
            self.drawn(seed, self.graphs),
            self.drawn(seed, self.held_out, "queries"),
        )
        steps = 0 if self.between == NONE else self.levels
        filled = taught["path"] if self.between == PATH else self.between
        facts = {
            f"step {i + 1}": (
                self.prompts(taught, filled, i),
                taught["path"][:, i, None],
            )
            for i in range(steps)
        }
        facts["answer"] = self.prompts(taught, filled), taught["path"][:, -1:]
        queries = {
            "answer": (self.prompts(held_out, self.asked), held_out["path"][:, -1:])
        }
        return World.of(self, seed, words, facts, queries, "its graph is in no fact")

    def drawn(self, seed: int, count: int, part: str = "facts") -> dict[str, Ids]:
        """Draw the questions of one part of a world.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.
            count: Number of graphs ``B``; each has one question.
            part: Name of the random stream, so that ``facts`` and ``queries`` contain
                different graphs.

        Returns:
            Dictionary of integer arrays. The token ids of the nodes ``0, …, N - 1`` are
            their numbers.

            - ``question``: token ids of the questions, ``[B, 2 * (edges + 3)]``, where
              ``edges`` is ``N - 2``.
            - ``path``: nodes from the root, which is left out, to the correct
              candidate, ``[B, levels]``.
            - ``other``: the wrong candidate, ``[B]``.
            - ``distance``: number of edges from the root to each node, ``[B, N]``;
              ``2 * N`` if the node cannot be reached.

        Raises:
            ConfigError: The seed is out of range.
        """
        rng = Streams(seed).numpy(WORLD, part)
        levels, branches, rows = self.levels, self.branches, np.arange(count)
        names = rng.permuted(np.tile(np.arange(self.nodes), (count, 1)), axis=1)
        roots, below = names[:, :2], names[:, 2:].reshape(count, levels, 2, branches)
        parents = rng.integers(branches, size=below.shape)
        parents[:, 0] = 0
        above = np.concatenate(
            [roots[:, None, :, None].repeat(branches, 3), below[:, :-1]], 1
        )
        pairs = np.stack([np.take_along_axis(above, parents, 3), below], -1).reshape(
            count, -1, 2
        )
        order = rng.permuted(np.tile(np.arange(pairs.shape[1]), (count, 1)), axis=1)
        pairs = np.take_along_axis(pairs, order[..., None], axis=1)
        at = rng.integers(branches, size=(count, 2))
        right, other = (below[rows, -1, tree, at[:, tree]] for tree in (0, 1))
        path, place = np.empty((count, levels), np.int64), at[:, 0]
        for level in reversed(range(levels)):
            path[:, level] = below[rows, level, 0, place]
            place = parents[rows, level, 0, place]
        distance = np.full((count, self.nodes), 2 * self.nodes)
        distance[rows, roots[:, 0]] = 0
        for level in range(levels):
            np.put_along_axis(distance, below[:, level, 0], level + 1, axis=1)
        mark, root = (
            np.full((count, 2), self.token(word)) for word in ("candidate", "root")
        )
        candidates = rng.permuted(np.stack([right, other], 1), axis=1)
        marked = np.stack([candidates, mark], -1).reshape(count, -1)
        told = [pairs.reshape(count, -1), marked, roots[:, :1], root[:, :1]]
        question = np.concatenate(told, axis=1)
        return {
            "question": question,
            "path": path,
            "other": other,
            "distance": distance,
        }

    def prompts(
        self, drawn: dict[str, Ids], between: str | Ids, steps: int | None = None
    ) -> Ids:
        """Return prompts: questions followed by steps and, by default, the token ``answer``.

        Args:
            drawn: Questions of ``B`` graphs, as :meth:`drawn` returns them.
            between: Kind of the steps, such as ``thought`` or ``nothing``, which is
                ``nothing`` or one of the :data:`MARKS`; or the token ids of the steps,
                ``[B, levels]``.
            steps: Number of steps after which the prompt ends. If ``None`` (the
                default), the prompt contains all steps and then the token ``answer``.

        Returns:
            Token ids of the prompts, ``[B, T]``. Each step and the token ``answer`` are
            written twice, since a position of the model consists of two tokens.

        Raises:
            ValueError: There is no such kind of steps.
        """
        path = drawn["path"]
        if isinstance(between, str):
            nothing = between == NONE
            between = (
                path[:, :0] if nothing else np.full_like(path, self.token(between))
            )
        ask = np.full((len(path), 1), self.token("answer"))
        after = (
            np.concatenate([between, ask], 1) if steps is None else between[:, :steps]
        )
        return np.concatenate([drawn["question"], after.repeat(2, axis=1)], axis=1)


def thinker(
    vocabulary: int,
    nodes: int = 14,
    edges: int = 12,
    width: int = 32,
    heads: int = 2,
    layers: int = 2,
) -> Any:
    """Return a causal transformer that reads two tokens per position and has continuous thoughts.

    The embedding of a position of the question is the sum of the embeddings of its two
    tokens; there are no position embeddings. After the question, the embedding of a
    position depends on its token:

    - ``thought``: the last hidden state of the previous position, called a continuous
      thought (Hao et al. 2024);
    - ``collapsed``: the embedding of the node with the largest logit at the previous
      position;
    - ``swapped``: the last hidden state of the previous position of the preceding
      sequence in the batch;
    - any other token: its own embedding.

    The readout is tied to the embeddings of the first token of each pair.

    Args:
        vocabulary: Number of tokens ``V``. The nodes have the smallest ids, followed by
            the :data:`MARKS`.
        nodes: Number of nodes of a graph; by default that of :class:`Reachability`.
        edges: Number of edges of a graph; by default that of :class:`Reachability`.
        width: Width ``D`` of the model, a multiple of ``heads``.
        heads: Number of attention heads of each layer.
        layers: Number of layers, at least 1.

    Returns:
        A ``torch.nn.Module`` that maps token ids ``[B, T]`` to the logits of the last
        position, ``[B, V]``. ``T`` is even and at least ``2 * (edges + 3)``, the length
        of a question.
    """
    import torch
    from torch import Tensor, nn

    class Block(nn.Module):
        """Layer with causal attention and an MLP, both with LayerNorm and a residual."""

        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query = nn.Linear(width, width, bias=False)
            self.seen = nn.Linear(width, 2 * width, bias=False)
            self.out = nn.Linear(width, width, bias=False)
            self.up, self.down = (
                nn.Linear(width, 2 * width),
                nn.Linear(2 * width, width),
            )

        def forward(
            self, x: Tensor, before: Tensor | None, read: int
        ) -> tuple[Tensor, Tensor]:
            """Compute the states of the last positions, and keys and values of all positions.

            Args:
                x: States of the new positions, ``[B, N, D]``.
                before: Keys and values of the ``M`` earlier positions, ``[B, M, 2D]``;
                    ``None`` if there are none.
                read: Number of new positions, the last ones, whose states are computed.

            Returns:
                The states, ``[B, read, D]``, and the keys and values of the earlier and
                the new positions, ``[B, M + N, 2D]``.
            """
            normed = self.norm1(x)
            q, kv = self.query(normed[:, -read:]), self.seen(normed)
            kv = kv if before is None else torch.cat([before, kv], 1)
            q, k, v = (
                y.unflatten(-1, (heads, -1)).transpose(1, 2)
                for y in (q, *kv.chunk(2, -1))
            )
            hidden = torch.ones(
                q.shape[2], k.shape[2], dtype=torch.bool, device=x.device
            )
            hidden = hidden.triu(1 + k.shape[2] - q.shape[2])
            scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(hidden, -torch.inf)
            x = x[:, -read:] + self.out(
                (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
            )
            return x + self.down(self.up(self.norm2(x)).relu()), kv

    class Thinker(nn.Module):
        """Transformer that feeds back its last hidden state where the prompt requests it."""

        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = (
                nn.Embedding(vocabulary, width) for _ in range(2)
            )
            for table in (self.first, self.second):
                nn.init.normal_(table.weight, std=width**-0.5)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def forward(self, ids: Tensor) -> Tensor:
            """Return the logits of the last position, ``[B, V]``, for ``ids``, ``[B, T]``."""
            asked = edges + 3
            x = self.first(ids[:, ::2])
            told = x[:, :asked] + self.second(ids[:, 1::2])[:, :asked]
            state, memory = self.passed(told, [None] * layers)
            for t in range(asked, x.shape[1]):
                mark, said = (
                    ids[:, 2 * t, None, None],
                    (state @ self.first.weight.T)[..., :nodes],
                )
                new = x[:, t : t + 1]
                likely = self.first(said.argmax(-1))
                fed = {THOUGHT: state, COLLAPSED: likely, SWAPPED: state.roll(1, 0)}
                for name, embedding in fed.items():
                    new = torch.where(mark == nodes + MARKS.index(name), embedding, new)
                state, memory = self.passed(new, memory)
            return state[:, -1] @ self.first.weight.T

        def passed(self, x: Tensor, memory: list[Any]) -> tuple[Tensor, list[Any]]:
            """Apply all layers to new positions, after the positions in memory.

            Args:
                x: Embeddings of the new positions, ``[B, N, D]``.
                memory: For each layer, keys and values of the ``M`` earlier positions,
                    ``[B, M, 2D]``, or ``None`` if there are none.

            Returns:
                The last hidden state of the last position, ``[B, 1, D]``, and the
                memory with the new positions, ``[B, M + N, 2D]`` for each layer.
            """
            after = []
            for i, (block, before) in enumerate(zip(self.blocks, memory, strict=True)):
                x, kv = block(x, before, 1 if i + 1 == layers else x.shape[1])
                after.append(kv)
            return self.norm(x), after

    return Thinker()


class Settings(iw.Config):
    """Settings of the recipe; the defaults are for the scale ``cpu``.

    Values for other scales are in ``frontier.toml``, whose section ``[settings]``
    contains the descriptions that ``inweights describe`` prints.

    Attributes:
        world: World of every trial; its ``between`` is replaced by that of the trial.
        width: Width of every model, a multiple of its two heads.
        layers: Number of layers of every model, at least 1.
        batch: Number of facts per update; 0 for all facts.
        stage: Number of updates of each stage of training except the last. The number
            of all updates of a model is ``stage * (world.levels + 2)``.
        rate: Learning rate, above 0, after the first 20 updates of a stage, in which it
            rises. It falls linearly to 0 over the second half of the last stage.
    """

    world: Reachability = Reachability()
    width: int = 32
    layers: int = 2
    batch: int = 64
    stage: int = 400
    rate: float = 3e-3


def plan(settings: Settings) -> Plan:
    """Plan training runs with each kind of steps, and evaluate one model without training.

    Args:
        settings: The recipe's settings, such as ``world``, ``width`` and ``stage``;
            :class:`Settings` describes each.

    Returns:
        - Labels of the trials: ``between`` (kind of steps between question and answer:
          ``thought``, ``path``, ``pause``, ``nothing``) and ``trained`` (Boolean; false
          for an untrained model with thoughts).
        - Measures: ``answered`` (:func:`answered`; all trials) and ``held``
          (:func:`held`; trials with thoughts).

    Raises:
        ConfigError: A value is out of range for the optimizer or a phase of training.
    """
    trials = [_trial(settings, between) for between in (THOUGHT, PATH, PAUSE, NONE)]
    trials.append(_trial(settings, THOUGHT, trained=False))
    steps = Measure(name="held", probe=held, where={"between": THOUGHT})
    return Plan(trials=trials, measures=[answered, steps])


def _trial(settings: Settings, between: str, *, trained: bool = True) -> Trial:
    """Return a trial with one kind of steps between question and answer.

    With thoughts or uninformative tokens, the model is trained in stages: the ``i``-th
    stage trains the ``i``-th node of the path, after ``i - 1`` steps, and the last
    stage, which is twice as long, trains the answer. With a path or without steps,
    there is a single stage with the same total number of updates.

    Args:
        settings: Settings of the recipe.
        between: Kind of the steps: ``thought``, ``path``, ``pause`` or ``nothing``.
        trained: Whether the model is trained; if false, all stages have 0 updates.
    """
    world = replace_at(settings.world, {"between": between})
    steps = [] if between == NONE else [f"step {i + 1}" for i in range(world.levels)]
    stages = [[step] for step in steps] if between in (PAUSE, THOUGHT) else []
    stages.append(["answer"] if stages else [*steps, "answer"])
    lengths = [settings.stage] * (len(stages) - 1)
    lengths.append(settings.stage * (world.levels + 2 - len(lengths)))
    falling = iw.Schedule(kind="linear", warmup=20, hold=0.5)
    phases = tuple(
        iw.Phase(
            roles=dict.fromkeys(roles, 1.0),
            steps=length if trained else 0,
            batch=settings.batch,
            optimizer=iw.Optimizer(rate=settings.rate),
            schedule=falling if "answer" in roles else iw.Schedule(warmup=20),
        )
        for roles, length in zip(stages, lengths, strict=True)
    )
    size: Any = {"width": settings.width, "layers": settings.layers}
    return Trial(
        labels={"between": between, "trained": trained},
        world=world,
        model=iw.wrap(thinker, nodes=world.nodes, edges=world.nodes - 2, **size),
        learner=iw.Curriculum(phases=phases),
    )


def answered(model: Any, worlds: Any) -> pl.DataFrame:
    """Compute the share of held-out questions that are answered correctly.

    A model with thoughts is also evaluated with each thought replaced by the embedding
    of its most likely node (``collapsed``) or by the thought of another graph
    (``swapped``).

    Args:
        model: Model with ``R`` replicas.
        worlds: Worlds of the kind ``reachability`` with the same settings, one for each
            replica.

    Returns:
        One row per replica and kind of steps, with the columns ``replica``, ``fed``
        (kind of the steps between question and answer), ``accuracy`` (share of
        questions, from 0 to 1, for which the correct candidate has the largest logit of
        all tokens) and ``chosen`` (share of questions, from 0 to 1, for which the
        correct candidate has the larger logit of the two candidates).

    Raises:
        ConfigError: The worlds are not of the kind ``reachability``.
    """
    rows = []
    config, drawn = _held_out(worlds)
    for fed in dict.fromkeys(
        [config.asked, *((COLLAPSED, SWAPPED) * (config.asked == THOUGHT))]
    ):
        logits = _logits(model, [config.prompts(one, fed) for one in drawn])
        for replica, (one, said) in enumerate(zip(drawn, logits, strict=True)):
            each = np.arange(len(said))
            right, wrong = said[each, one["path"][:, -1]], said[each, one["other"]]
            rows.append(
                {
                    "replica": replica,
                    "fed": fed,
                    "accuracy": float((right == said.max(1)).mean()),
                    "chosen": float((right > wrong).mean()),
                }
            )
    return pl.DataFrame(rows)


def held(model: Any, worlds: Any) -> pl.DataFrame:
    """Compute inner products of thoughts with the embeddings of nodes, on held-out graphs.

    The ``i``-th thought is the last hidden state after ``i - 1`` thoughts. The readout
    is tied to the embeddings, so these inner products are the logits of the nodes.

    Args:
        model: Model with ``R`` replicas and continuous thoughts.
        worlds: Worlds of the kind ``reachability`` with the same settings, one for each
            replica.

    Returns:
        One row per replica, thought and kind of nodes, with these columns:

        - ``replica``.
        - ``thought``: number ``i`` of the thought, starting at 1.
        - ``nodes``: kind of nodes: ``on the path`` (the ``i``-th node of the path),
          ``others of the frontier`` (other nodes that are ``i`` edges from the root),
          ``earlier`` (fewer than ``i`` edges, including the root), ``reached`` (at most
          ``i`` edges) or ``not reached`` (all other nodes of the graph).
        - ``product``: mean inner product over all graphs and all nodes of this kind.
        - ``above``: share, from 0 to 1, of the pairs of a node of this kind and a node
          that is ``not reached`` in the same graph, in which the former has the larger
          inner product.

    Raises:
        ConfigError: The worlds are not of the kind ``reachability``.
    """
    config, drawn = _held_out(worlds)
    rows = []
    for step in range(1, config.levels + 1):
        logits = _logits(
            model, [config.prompts(one, THOUGHT, step - 1) for one in drawn]
        )
        for replica, (one, all_of_them) in enumerate(zip(drawn, logits, strict=True)):
            product, distance = all_of_them[:, : config.nodes], one["distance"]
            on_path = np.arange(config.nodes) == one["path"][:, step - 1, None]
            kinds = {
                ON_PATH: on_path,
                FRONTIER: (distance == step) & ~on_path,
                EARLIER: distance < step,
                REACHED: distance <= step,
                BEYOND: distance > step,
            }
            larger = product[:, :, None] > product[:, None]
            for nodes, chosen in kinds.items():
                pairs = chosen[:, :, None] & kinds[BEYOND][:, None]
                rows.append(
                    {
                        "replica": replica,
                        "thought": step,
                        "nodes": nodes,
                        "product": float(product[chosen].mean()),
                        "above": float(larger[pairs].mean()),
                    }
                )
    return pl.DataFrame(rows)


def _held_out(worlds: Any) -> tuple[Reachability, list[dict[str, Ids]]]:
    """Return the config of the worlds, and the held-out questions of each world."""
    config = decode(Reachability, dict(worlds[0].settings))
    return config, [
        config.drawn(world.seed, config.held_out, "queries") for world in worlds
    ]


def _logits(model: Any, prompts: list[Ids]) -> Floats:
    """Return the logits at the last position of prompts, ``[R, B, V]``.

    Args:
        model: Model with ``R`` replicas.
        prompts: Token ids of the prompts of each replica, ``[B, T]`` each.
    """
    import torch

    from inweights.models.packing import pack

    batch = pack([torch.from_numpy(np.stack(prompts))])
    with torch.no_grad():
        return np.asarray(model(batch, batch.last).double())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the measured tables with readable names of conditions, for claims and figures.

    Args:
        tables: The tables of a run of :func:`plan`, by name: ``answered``
            (:func:`answered`) and ``held`` (:func:`held`), with the columns of their
            probes, ``seed``, and the labels ``between`` and ``trained``.

    Returns:
        - ``choices``: a row per run (trial and seed) and kind of steps. Columns: all
          columns of ``answered``, with readable values in ``fed`` (``nothing``,
          ``pauses``, ``a path of its own``, ``thoughts``, ``one node each`` or
          ``another graph's thoughts``), plus ``model`` (``trained`` or ``untrained``).
        - ``held``: a row per run with thoughts, thought and kind of nodes. Columns: all
          columns of the measured ``held``, plus ``model``.

    Raises:
        KeyError: A required table is missing from ``tables``.
    """
    words = {
        NONE: "nothing",
        PAUSE: "pauses",
        PATH: "a path of its own",
        THOUGHT: "thoughts",
    }
    words |= {COLLAPSED: "one node each", SWAPPED: "another graph's thoughts"}
    fed = (
        pl.when(between=PATH).then(pl.lit(PATH)).otherwise("fed").replace_strict(words)
    )
    model = pl.when("trained").then(pl.lit("trained")).otherwise(pl.lit("untrained"))
    return {
        "choices": tables["answered"].with_columns(fed=fed, model=model),
        "held": tables["held"].with_columns(model=model),
    }


chosen = share("choices", "chosen", trained=True)
thoughts = chosen.at(fed="thoughts")
product = number("held", "product", trained=True).over("thought")
above = share("held", "above", nodes=FRONTIER).over("thought")

SCORES = {
    "thoughts-answer": thoughts >= 0.9,
    "more-than-nothing": thoughts - chosen.at(fed="nothing") >= 0.3,
    "more-than-a-path": thoughts - chosen.at(fed="a path of its own") >= 0.1,
    "more-than-pauses": thoughts - chosen.at(fed="pauses") >= 0.3,
    "reached-above": product.at(nodes=REACHED) - product.at(nodes=BEYOND) >= 0.5,
    "frontier-above-earlier": product.at(nodes=FRONTIER) - product.at(nodes=EARLIER)
    >= 0.5,
    "path-above-frontier": product.at(nodes=ON_PATH) - product.at(nodes=FRONTIER)
    >= 0.5,
    "off-the-path": above.at(trained=True) >= 0.6,
    "untrained-holds-nothing": above.at(trained=False).within(0.4, 0.6),
    "another-graphs-thoughts": chosen.at(fed="another graph's thoughts") <= 0.6,
    "one-node-is-less": thoughts - chosen.at(fed="one node each") >= 0.2,
}

recipe = iw.recipes.register(
    read_recipe(
        Path(__file__).with_suffix(".toml"),
        iw.Paper("superposition", "Reasoning by Superposition"),
        scales={"smoke": Settings(), "cpu": Settings()},
        seeds={"smoke": 2, "cpu": 8, "paper": 16},
        plan=plan,
        derive=derive,
        scores=SCORES,
    )
)
