"""Paths through a star or a tree that are stored in weights (Geometric Memory §2, C.2, D).

The facts are the edges of the graph and some of its root-to-leaf paths: given a leaf,
the answer is the path from the root. A model that has only memorised edges and trained
paths does not know the paths to the other leaves; a model that has learnt a geometry
can find them. :class:`PathStar` is the config; the functions return statements of edges
and paths, also for :class:`~inweights.worlds.OwnPathStar`.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_depth, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World


class _Task(Protocol):
    """The settings that determine how edges and paths become statements, for any graph."""

    @property
    def train(self) -> float: ...
    @property
    def pauses(self) -> int: ...
    @property
    def task_tokens(self) -> bool: ...
    @property
    def edges(self) -> str: ...
    @property
    def reverse(self) -> bool: ...
    @property
    def answer(self) -> str: ...


class PathStar(Config, tag_field="kind", tag="path-star"):
    """In-weights path-star task of Geometric Memory; a tree-star if ``branches`` is above 1.

    The facts are ``u → v`` for every edge away from the root (role ``edge``) and
    towards it (``reverse_edge``), and ``leaf <pause>… → root … leaf`` (``path``) for
    some leaves. The queries are the paths to the other leaves. With task tokens, a
    prompt begins with ``<edge>`` or ``<path>``.

    The first answer token, the root, is the same for all paths. The *hardest* token is
    the second one, the first node of the arm; each later token follows from an edge.

    Attributes:
        arms: Number of children of the root, ``d``, at least 2.
        nodes: Number ``p`` of nodes on a path, root and leaf included, at least 3.
        branches: Number of children of every inner node below the root; 1 for the
            path-star.
        train: Fraction of the leaves, or of the arms, whose paths are facts, above 0
            and below 1. It is rounded such that at least one is a fact and at least one
            is held out.
        split: Unit that is held out: ``leaf`` (individual leaves) or ``arm`` (all
            leaves of an arm; C.2). For a path-star, both are the same.
        pauses: Number of tokens ``<pause>`` between leaf and answer, which are not
            predicted (D.2).
        task_tokens: Whether each prompt begins with ``<edge>`` or ``<path>``.
        edges: Directions of the edges in training (D.1): ``forward`` (away from the
            root), ``backward`` or ``both``.
        reverse: Whether the answer goes from the leaf to the root (D.1).
        answer: ``path`` for the whole path, or ``first`` for the root and the hardest
            token only, so that a loss at the last position applies only to that token
            (§2.2).
        moved: Whether facts also state the edges of the same graph with permuted nodes,
            with roles ``moved_edge`` and ``moved_reverse_edge``. A model trained on
            these facts, and then on ``path`` with frozen embeddings, has learnt the
            geometry of other nodes. This control separates geometry from memory.
        after_leaf: Whether a reversed path starts after the leaf, which is in the
            prompt. If only edges towards the root are facts, a held-out leaf would
            otherwise be an answer that no fact has.

    Raises:
        ConfigError: A count is too small or above 10**12, ``train`` is not between 0
            and 1, the tree may have more than 10^18 nodes, there are neither pauses nor
            task tokens (prompts of paths and edges would be the same), ``reverse`` is
            combined with ``answer="first"``, or ``after_leaf`` is set without
            ``reverse``.

    Example:
        >>> world = PathStar(arms=4, nodes=3, pauses=1).build(seed=0)
        >>> world
        World('path-star', 10 tokens, 19 facts, 1 query, seed=0)
        >>> world.facts.role_names, world.vocabulary.text(world.queries.prompt(0))
        (('edge', 'reverse_edge', 'path'), 'v9 <pause>')
    """

    later = {"after_leaf": False}
    newer = ("after_leaf",)

    arms: int = 200
    nodes: int = 5
    branches: int = 1
    train: float = 0.75
    split: Literal["leaf", "arm"] = "leaf"
    pauses: int = 2
    task_tokens: bool = False
    edges: Literal["forward", "backward", "both"] = "both"
    reverse: bool = False
    answer: Literal["path", "first"] = "path"
    moved: bool = False
    after_leaf: bool = False

    def __post_init__(self) -> None:
        check_counts("path-star", self, arms=2, nodes=3, branches=1, pauses=0)
        check_depth("path-star", self.nodes, self.branches)
        check_task(self, "path-star")
        if self.after_leaf and not self.reverse:
            raise ConfigError(
                "path-star: 'after_leaf' requires reversed paths; also set 'reverse'"
            )

    @property
    def size(self) -> int:
        """Number of nodes of the graph, 1 + arms · (1 + b + … + b^(p−2)).

        Here ``b`` is :attr:`branches` and ``p`` is :attr:`nodes`.

        Example:
            >>> PathStar(arms=10_000, nodes=10).size
            90001
        """
        b = self.branches
        depth = self.nodes - 1
        return 1 + self.arms * (depth if b == 1 else (b**depth - 1) // (b - 1))

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines the labels of the nodes and the held-out leaves.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: The world does not fit in memory, or the seed is out of range.
        """
        leaves = self.arms * self.branches ** (self.nodes - 2)
        check_world(
            "path-star",
            tokens=self.size,
            statements=2 * (1 + self.moved) * self.size + leaves,
            length=3 + leaves * (2 * self.nodes + self.pauses) / self.size,
        )
        streams = Streams(seed)
        ids = streams.numpy(WORLD, "path-star", "labels").permutation(self.size)
        lines, pairs = (ids[part] for part in self._skeleton())
        vocabulary = task_vocabulary(self, numbered("v", self.size))

        facts = edge_statements(self, vocabulary, pairs, "")
        if self.moved:
            other = streams.numpy(WORLD, "path-star", "moved").permutation(self.size)
            facts |= edge_statements(self, vocabulary, other[pairs], "moved_")
        trained = self._trained(streams.numpy(WORLD, "path-star", "split"), len(lines))
        facts["path"] = self._paths(vocabulary, lines[trained])
        queries = self._paths(vocabulary, lines[~trained])
        where = "to this leaf" if self.split == "leaf" else "through this arm"
        why = f"no path {where} is trained, only edges"
        return World.of(self, seed, vocabulary, facts, {"path": queries}, why)

    def _paths(self, vocabulary: Vocabulary, lines: Ids) -> tuple[Ids, Ids]:
        """Return prompts and answers of paths; with :attr:`after_leaf`, answers omit the leaf."""
        prompts, answers = path_statements(self, vocabulary, lines)
        return prompts, answers[:, int(self.after_leaf) :]

    def _skeleton(self) -> tuple[Ids, Ids]:
        """Return paths ``[leaves, p]`` and edges ``[N − 1, 2]``; the root is node 0."""
        lines = np.zeros((1, 1), dtype=np.int64)
        pairs = []
        count = 1
        for depth in range(self.nodes - 1):
            lines = np.repeat(lines, self.branches if depth else self.arms, axis=0)
            lines = np.column_stack([lines, count + np.arange(len(lines))])
            pairs.append(lines[:, -2:])
            count += len(lines)
        return lines, np.concatenate(pairs)

    def _trained(self, rng: np.random.Generator, leaves: int) -> np.ndarray:
        """Draw the leaves whose paths are trained, as a mask ``[leaves]``, ordered by arm."""
        units = leaves if self.split == "leaf" else self.arms
        count = min(max(1, round(self.train * units)), units - 1)
        chosen = np.zeros(units, dtype=bool)
        chosen[rng.permutation(units)[:count]] = True
        return np.repeat(chosen, leaves // units)


def edge_statements(
    task: _Task, words: Vocabulary, pairs: Ids, name: str
) -> dict[str, tuple[Ids, Ids]]:
    """Return a dictionary that maps each role to prompts and answers of edges.

    Args:
        task: Config of the task: its edge directions and task tokens.
        words: Vocabulary of :func:`task_vocabulary`.
        pairs: Nodes of each of ``E`` edges as token ids, ``[E, 2]``, the node nearer to
            the root first.
        name: Prefix of the names of roles: empty, or ``moved_``.

    Returns:
        Prompts ``[E, T]`` and answers ``[E, 1]`` for each role. The roles are ``edge``
        (unless only backward edges are used) and ``reverse_edge`` (unless only forward
        edges are used), each with the prefix ``name``.

    Raises:
        DataError: ``task.task_tokens`` is True, but the vocabulary has no ``<edge>``.
    """
    mark = [words.id("<edge>")] if task.task_tokens else []
    facts = {}
    if task.edges != "backward":
        facts[f"{name}edge"] = (_after(mark, pairs[:, :1]), pairs[:, 1:])
    if task.edges != "forward":
        facts[f"{name}reverse_edge"] = (_after(mark, pairs[:, 1:]), pairs[:, :1])
    return facts


def path_statements(task: _Task, words: Vocabulary, lines: Ids) -> tuple[Ids, Ids]:
    """Return prompts and answers of paths.

    Args:
        task: Config of the task: its pauses, task tokens, direction and kind of answer.
        words: Vocabulary of :func:`task_vocabulary`.
        lines: Paths of ``p`` nodes from the root to a leaf as token ids, ``[leaves,
            p]``.

    Returns:
        Prompts ``[leaves, T]`` (task token, leaf, pauses) and answers ``[leaves, A]``,
        as token ids; ``A`` is ``p``, or 2 for ``answer="first"``.

    Raises:
        DataError: The task needs ``<path>`` or ``<pause>``, but the vocabulary lacks it.
    """
    mark = [words.id("<path>")] if task.task_tokens else []
    prompts = _after(mark, lines[:, -1:])
    if task.pauses:
        pauses = np.full((len(lines), task.pauses), words.id("<pause>"))
        prompts = np.column_stack([prompts, pauses])
    if task.answer == "first":
        return prompts, lines[:, :2]
    return prompts, lines[:, ::-1] if task.reverse else lines


def task_vocabulary(task: _Task, nodes: Sequence[str]) -> Vocabulary:
    """Return the vocabulary of a task, with the groups ``node``, ``pause`` and ``task``.

    Args:
        task: A :class:`PathStar` or :class:`~inweights.worlds.OwnPathStar`: the
            vocabulary contains ``<pause>`` if it has pauses, and ``<edge>`` and
            ``<path>`` if it has task tokens.
        nodes: Names of the nodes.

    Raises:
        DataError: A name occurs twice, or equals the name of a special token that the
            vocabulary contains.
    """
    groups = {"node": list(nodes)}
    if task.pauses:
        groups["pause"] = ["<pause>"]
    if task.task_tokens:
        groups["task"] = ["<edge>", "<path>"]
    return Vocabulary(groups)


def check_task(task: _Task, kind: str) -> None:
    """Raise an error if options of a task are out of range or contradict each other.

    Args:
        task: Config of the world.
        kind: Name of the kind of world, used in messages.

    Raises:
        ConfigError: ``pauses`` is negative, ``train`` is not between 0 and 1, there are
            neither pauses nor task tokens, or ``reverse`` is combined with
            ``answer="first"``.
    """
    if task.pauses < 0:
        raise ConfigError(f"{kind}: 'pauses' must be at least 0, got {task.pauses}")
    if not 0 < task.train < 1:
        raise ConfigError(
            f"{kind}: 'train' must be above 0 and below 1, got {task.train}"
        )
    if not task.pauses and not task.task_tokens:
        raise ConfigError(
            f"{kind}: without a pause and without task tokens, a leaf would be the prompt of "
            "both an edge and a path; set 'pauses' or 'task_tokens'"
        )
    if task.reverse and task.answer == "first":
        raise ConfigError(
            f"{kind}: answer = 'first' cannot be combined with reversed paths; leave out "
            "'answer' or 'reverse'"
        )


def _after(mark: list[int], columns: Ids) -> Ids:
    """Return the columns with the tokens of ``mark`` prepended to each row."""
    if not mark:
        return columns
    return np.column_stack([np.tile(mark, (len(columns), 1)), columns])
