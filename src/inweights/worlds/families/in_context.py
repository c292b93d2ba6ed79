"""The path-star task in context: a new graph in every prompt (Geometric Memory, App. A).

This is the task of Bachmann and Nagarajan (*The pitfalls of next-token prediction*,
2024), for comparison with the in-weights task. Nothing can be memorised here. A model
that is trained to predict the next token learns to follow an edge from the previous
node. It therefore fails to learn the one token that requires planning, the first node
of the arm. :class:`InContextStar` is the config.
"""

import numpy as np

from inweights.config import Config
from inweights.errors import ConfigError
from inweights.seeds import WORLD, Streams
from inweights.worlds.size import check_counts, check_world
from inweights.worlds.vocabulary import numbered
from inweights.worlds.world import Ids, Vocabulary, World


class InContextStar(Config, tag_field="kind", tag="in-context-star"):
    """Path-star graphs in prompts: the prompt lists edges, root and goal; the answer is the path.

    A prompt is ``u v u v … <query> root goal <answer>``: the edges away from the root
    in random order, with random labels of the nodes. The goal is the leaf of a random
    arm, and the answer is the path from the root to it. Facts and queries are about
    different graphs; both have the role ``path``. The token ``<blank>`` occurs in no
    statement, but teacherless training uses it (:class:`~inweights.training.Phase`).

    Attributes:
        arms: Number of arms ``d`` of every graph, at least 2.
        nodes: Number of nodes on a path, root and goal included, at least 3.
        labels: Number of different node labels; at least the number of nodes of a
            graph.
        trained: Number of facts, at least 1.
        asked: Number of queries, at least 1.
        reverse: Whether the answer goes from the goal to the root, which requires no
            planning.

    Raises:
        ConfigError: A count is below this minimum or above 10**12, or there are fewer
            labels than nodes in a graph.

    Example:
        >>> world = InContextStar(arms=2, nodes=3, labels=9, trained=50, asked=5).build(seed=0)
        >>> world.vocabulary.text(world.queries.prompt(0))
        'v4 v1 v2 v8 v4 v2 v1 v9 <query> v4 v8 <answer>'
        >>> world.vocabulary.text(world.queries.answer(0))
        'v4 v2 v8'
    """

    arms: int = 2
    nodes: int = 5
    labels: int = 50
    trained: int = 20_000
    asked: int = 1000
    reverse: bool = False

    def __post_init__(self) -> None:
        check_counts(
            "in-context-star",
            self,
            arms=2,
            nodes=3,
            labels=1,
            trained=1,
            asked=1,
        )
        if self.labels < self.size:
            raise ConfigError(
                f"in-context-star: 'labels' must be at least {self.size}, the number of "
                f"nodes of a graph, got {self.labels}"
            )

    @property
    def size(self) -> int:
        """Number of nodes of each graph of the world: the root, and ``nodes - 1`` for each arm."""
        return 1 + self.arms * (self.nodes - 1)

    def build(self, seed: int = 0) -> World:
        """Build the world; the seed determines the graphs and the goal of each prompt.

        Args:
            seed: Root seed, from 0 to 2**63 - 1.

        Raises:
            ConfigError: :attr:`labels` is so small that ``trained + asked`` different
                graphs were not found, the world does not fit in memory, or the seed
                is out of range.
        """
        wanted = self.trained + self.asked
        length = self.labels + 6 * self.size + self.nodes
        check_world(
            "in-context-star", tokens=self.labels, statements=wanted, length=length
        )
        marks = ["<query>", "<answer>", "<blank>"]
        vocabulary = Vocabulary({"node": numbered("v", self.labels), "mark": marks})
        prompts, answers = self._graphs(
            Streams(seed).numpy(WORLD, "in-context-star"), vocabulary
        )
        facts = {"path": (prompts[: self.trained], answers[: self.trained])}
        queries = {"path": (prompts[self.trained :], answers[self.trained :])}
        why = "none is: all graphs are drawn from the same distribution"
        return World.of(
            self, seed, vocabulary, facts, queries, why, out_of_distribution=False
        )

    def _graphs(self, rng: np.random.Generator, words: Vocabulary) -> tuple[Ids, Ids]:
        """Draw different pairs of a graph and a goal.

        Args:
            rng: Random generator.
            words: Vocabulary of the world.

        Returns:
            Prompts ``[M, T]`` and answers ``[M, nodes]``, as token ids.
        """
        skeleton = np.zeros((self.arms, self.nodes), dtype=np.int64)
        skeleton[:, 1:] = 1 + np.arange(self.size - 1).reshape(self.arms, -1)
        pairs = np.stack([skeleton[:, :-1].ravel(), skeleton[:, 1:].ravel()], axis=1)
        wanted = self.trained + self.asked
        found = np.zeros((0, self.size), dtype=np.int64)
        # Each row contains the labels of the nodes, arm after arm; the goal is on the
        # first arm.
        for _ in range(100):
            drawn = rng.random((wanted, self.labels)).argsort(1)[:, : self.size]
            found = np.concatenate([found, drawn])
            _, first = np.unique(self._canonical(found), axis=0, return_index=True)
            found = found[np.sort(first)]
            if len(found) >= wanted:
                break
        else:
            raise ConfigError(
                f"in-context-star: {wanted} different graphs with {self.labels} labels were not "
                "found; use more labels or fewer graphs"
            )
        found = found[:wanted]
        order = rng.random((wanted, len(pairs))).argsort(1)
        edges = found[:, pairs][np.arange(wanted)[:, None], order].reshape(wanted, -1)
        query_mark = np.full(wanted, words.id("<query>"))
        answer_mark = np.full(wanted, words.id("<answer>"))
        answers = found[:, skeleton[0]]
        root = answers[:, 0]
        goal = answers[:, -1]
        prompts = np.column_stack([edges, query_mark, root, goal, answer_mark])
        return prompts, answers[:, ::-1] if self.reverse else answers

    def _canonical(self, labels: Ids) -> Ids:
        """Sort the other arms, so that rows are equal for equal graphs and goals."""
        arms = labels[:, 1:].reshape(len(labels), self.arms, -1)
        rest = arms[:, 1:]
        rest = rest[np.arange(len(labels))[:, None], rest[:, :, 0].argsort(1)]
        return np.concatenate(
            [labels[:, :1], arms[:, 0], rest.reshape(len(labels), -1)], axis=1
        )
