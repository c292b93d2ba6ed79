"""Whether a thought that is fed back as it is holds all nodes that a search has come to.

A paper on a board of its own, from outside of the package: a world, a model that is wrapped, probes
and a recipe in one file, what is said and stated in ``frontier.toml`` beside it. Run it with

    inweights run superposition/frontier --plugin examples/superposition/frontier.py
"""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

import inweights as iw
from inweights.config import Config, decode, replace_at
from inweights.lab import Measure, Plan, Trial, number, read_recipe, share
from inweights.seeds import WORLD, Streams
from inweights.worlds import Vocabulary, World
from inweights.worlds.arrays import Floats, Ids

#: What stands between question and answer: nothing, a token that says nothing, nodes of the path,
#: or thoughts; and what thoughts are replaced by when a trained model is asked.
NONE, PAUSE, PATH, THOUGHT = "nothing", "pause", "path", "thought"
COLLAPSED, SWAPPED = "collapsed", "swapped"
MARKS = ("candidate", "root", "answer", PAUSE, THOUGHT, COLLAPSED, SWAPPED)
REACHED, BEYOND = "reached", "not reached"
#: Of those reached: the path's next node, others as far from the root, and those before.
ON_PATH, FRONTIER, EARLIER = "on the path", "others of the frontier", "earlier"


class Reachability(Config, tag_field="kind", tag="reachability"):
    """Graphs in prompts: which of two nodes can be reached from the root?

    Each graph is two trees of the same shape, whose edges come in random order. Tokens come in
    pairs: source and target of an edge, or a node and what it is (a candidate, the root).

    Attributes:
        levels: Edges from the root of a tree to its leaves, among which the candidates are.
        branches: Nodes of a level, each below any node of the level before.
        graphs: Graphs of the facts.
        held_out: Graphs of the queries.
        between: What stands between question and answer, a token a level.
    """

    levels: int = 3
    branches: int = 2
    graphs: int = 20_000
    held_out: int = 500
    between: Literal["nothing", "pause", "path", "thought"] = "thought"

    @property
    def nodes(self) -> int:
        return 2 * (1 + self.levels * self.branches)

    @property
    def asked(self) -> str:
        """What stands between when the model is asked: of a path, what it says itself."""
        return COLLAPSED if self.between == PATH else self.between

    def token(self, mark: str) -> int:
        """The token of a mark."""
        return self.nodes + MARKS.index(mark)

    def build(self, seed: int = 0) -> World:
        """Draw the graphs; ``step 1`` asks for the path's first node, ``answer`` for its last."""
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
        """Draw questions.

        Returns:
            For each graph ``question`` (tokens), ``path`` (nodes after the root, to the right
            candidate), ``other`` (the wrong candidate) and ``distance`` of each node from the root,
            large where there is no way.
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
        """Questions with so many steps, or with all of them and the token that asks to answer."""
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
    """Return a causal transformer that reads two tokens a position and has continuous thoughts.

    After the question a position that holds the mark of a thought has the last hidden state of the
    position before as its embedding (Hao et al. 2024). With another mark it is the embedding of
    the most likely node instead, or the hidden state of the sequence before in the batch.
    """
    import torch
    from torch import Tensor, nn

    class Block(nn.Module):
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
            """The next state of the last ``read`` positions; keys and values of all so far."""
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
            """The last hidden state of the last of the positions, and keys and values of all."""
            after = []
            for i, (block, before) in enumerate(zip(self.blocks, memory, strict=True)):
                x, kv = block(x, before, 1 if i + 1 == layers else x.shape[1])
                after.append(kv)
            return self.norm(x), after

    return Thinker()


class Settings(iw.Config):
    """What is set; ``frontier.toml`` says what each means."""

    world: Reachability = Reachability()
    width: int = 32
    layers: int = 2
    batch: int = 64
    stage: int = 400
    rate: float = 3e-3


def plan(settings: Settings) -> Plan:
    """Each kind of steps between question and answer; and an untrained model."""
    trials = [_trial(settings, between) for between in (THOUGHT, PATH, PAUSE, NONE)]
    trials.append(_trial(settings, THOUGHT, trained=False))
    steps = Measure(name="held", probe=held, where={"between": THOUGHT})
    return Plan(trials=trials, measures=[answered, steps])


def _trial(settings: Settings, between: str, *, trained: bool = True) -> Trial:
    """Stages with one step more each, the last twice as long; where nothing is fed back, one."""
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
    """How many held-out questions are answered, with what stands between, and replaced.

    Returns:
        A row for each replica and ``fed``: ``accuracy``, over all tokens, and ``chosen``, the share
        of questions whose right candidate has the larger logit of the two.
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
    """Inner products of thoughts with the embeddings of nodes, on held-out graphs.

    Thought i is the state that the head reads after i - 1 of them, so these are its logits.

    Returns:
        A row for each replica, ``thought`` and kind of ``nodes``: ``product``, their mean, and
        ``above``, the share of nodes not reached in i steps in the same graph that are below.
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
    """The config of worlds, and their held-out questions."""
    config = decode(Reachability, dict(worlds[0].settings))
    return config, [
        config.drawn(world.seed, config.held_out, "queries") for world in worlds
    ]


def _logits(model: Any, prompts: list[Ids]) -> Floats:
    """Logits after the prompts of each replica: ``[R, B, V]``."""
    import torch

    from inweights.models.packing import pack

    batch = pack([torch.from_numpy(np.stack(prompts))])
    with torch.no_grad():
        return np.asarray(model(batch, batch.last).double())


def derive(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Choices by what stood between, in words; inner products by kind of nodes."""
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
