"""Define the architectures, conditions and training that recipes of Geometric Memory share."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

import inweights as iw
from inweights.config import load_toml
from inweights.errors import check_names
from inweights.experiments import Curriculum, Descent, ModelConfig, Trial, Value
from inweights.models.configs import MambaConfig, Node2VecConfig, TinyNNConfig
from inweights.recipes.geometric_memory.variants import UNCHANGED, Variant
from inweights.training.curriculum import Precision
from inweights.worlds.families.graphs.graph import Graph

#: Names of conditions, a label of the trials: training as in the paper's code; the same
#: in bfloat16, which the code uses on a GPU; and our own, simpler vocabulary and
#: initialisation.
CODE = "the code's"
BF16 = "the code's, bf16"
PLAIN = "ours"
#: Tokens in the vocabulary of the code besides nodes: [EDGE] and eight tokens that no
#: edge uses.
RESERVED: dict[str, Any] = {"idle_tokens": 8, "edge_token": True}
#: Claims are judged in the first condition, unless they name another one.
CONDITIONS = (CODE, PLAIN)
#: Conditions of recipes that train in bfloat16, too.
OF_PRECISION = (BF16, *CONDITIONS)

Shape = Literal["path-star", "grid", "cycle", "irregular"]
#: The four tiny graphs (C.3): 17, 16, 15 and 16 nodes.
GRAPHS: tuple[Shape, ...] = ("path-star", "grid", "cycle", "irregular")
#: Number of top eigenspaces that together have the two dimensions of a picture.
TOP: dict[str, int] = {
    "path-star": 1,
    "grid": 1,
    "cycle": 1,
    "irregular": 2,
}

NODE2VEC = "Node2Vec"
GPT = "TinyGPT"
SSM = "TinySSM"
NN = "TinyNN"
FROZEN = "associative"
ARCHITECTURES = (NODE2VEC, GPT, SSM, NN, FROZEN)

#: Learning rate, number of steps and width of every architecture on each graph.
_TRAINED: dict[str, dict[str, tuple[float, int, int]]] = load_toml(
    Path(__file__).with_suffix(".toml")
)


class Node2VecDescent(iw.Config):
    """Settings of a Node2Vec and of its gradient descent, whose gradient has a closed form (B.5).

    A value of the wrong type raises a ``ConfigError``; ranges are checked on use.

    Attributes:
        model: Config of Node2Vec: its width, whether its head is tied, and its initial
            scale.
        rate: Learning rate, above 0, for a loss that is summed over the nodes; by
            default 0.01.
        steps: Number of updates, at least 0; by default 10,000.
    """

    model: Node2VecConfig = Node2VecConfig()
    rate: float = 0.01
    steps: int = 10_000

    @property
    def learner(self) -> Descent:
        """Gradient descent with ``steps`` updates at the learning rate ``rate``.

        Raises:
            ConfigError: ``rate`` is not positive and finite, or ``steps`` is negative.
        """
        return Descent(rate=self.rate, steps=self.steps)


class Training(iw.Config):
    """Settings for training an architecture on a graph by full-batch AdamW without weight decay.

    A value of the wrong type raises a ``ConfigError``; ranges are checked on use.

    Attributes:
        architecture: ``TinyGPT``, ``TinySSM`` (a Mamba), ``TinyNN`` or ``associative``
            (TinyNN with frozen embeddings). The name is not checked.
        rate: Peak learning rate, above 0. For TinyGPT it decays along a cosine.
        steps: Number of updates.
        width: Width of the embeddings.
        second: ``β₂`` of AdamW, the decay rate of its second moment, at least 0 and
            below 1.
        fades: Whether the learning rate decays along a cosine to a tenth of its peak in
            the conditions of the paper's code.
        condition: Name of the condition: ``the code's``, ``the code's, bf16`` or
            ``ours``, as :func:`trials` explains.
        pooled: Whether the edges that leave a node are combined in one sequence with
            several labels, which results in the same loss (up to rounding) from fewer
            logits.
    """

    architecture: str
    rate: float
    steps: int
    width: int
    second: float = 0.999
    fades: bool = False
    condition: str = PLAIN
    pooled: bool = False

    @property
    def model(self) -> ModelConfig:
        """Config of the model: a GPT for ``TinyGPT``, a Mamba for ``TinySSM``, otherwise a TinyNN.

        Raises:
            ConfigError: ``width`` is not between 1 and 65,536.
        """
        if self.architecture == GPT:
            std = None if self.condition == PLAIN else 1.0
            return iw.GPTConfig(
                layers=1,
                heads=1,
                width=self.width,
                position_std=std,
            )
        if self.architecture == SSM:
            return MambaConfig(layers=1, width=self.width)
        return TinyNNConfig(width=self.width, frozen=self.architecture == FROZEN)

    @property
    def learner(self) -> Curriculum:
        """A curriculum with one phase of ``steps`` updates, each over all edges.

        Raises:
            ConfigError: ``rate`` is not positive, ``steps`` is negative, or ``second``
                is outside ``[0, 1)``.
        """
        betas = (0.9, self.second)
        optimizer = iw.Optimizer(rate=self.rate, weight_decay=0.0, betas=betas)
        schedule = iw.Schedule()
        if self.fades and self.condition != PLAIN:
            schedule = iw.Schedule(kind="cosine", final=0.1)
        elif self.architecture == GPT:
            schedule = iw.Schedule(kind="cosine")
        precision: Precision = "bf16-emulated" if self.condition == BF16 else "fp32"
        phase = iw.Phase(
            steps=self.steps,
            optimizer=optimizer,
            schedule=schedule,
            precision=precision,
            pooled=self.pooled,
        )
        return Curriculum(phases=(phase,))


def training(architecture: str, shape: str, *, most: int | None = None) -> Training:
    """Return the settings with which the paper trains an architecture on one of the tiny graphs.

    Args:
        architecture: ``TinyGPT``, ``TinySSM``, ``TinyNN`` or ``associative``.
        shape: Name of the graph: ``path-star``, ``grid``, ``cycle`` or ``irregular``.
        most: Maximum number of updates. If ``None`` (the default) or 0, the paper's
            number is used.

    Returns:
        The settings, with the condition ``ours``.

    Raises:
        ConfigError: The paper does not train this architecture on this graph.

    Example:
        >>> training("TinyNN", "grid", most=3)
        Training(architecture='TinyNN', rate=0.01, steps=3, width=32, second=0.999, fades=True, \
condition='ours', pooled=False)
    """
    known: dict[str, tuple[float, int, int]] = {}
    for name, graphs in _TRAINED.items():
        known |= {f"{name} on {graph}": on for graph, on in graphs.items()}
    name = f"{architecture} on {shape}"
    check_names("training", [name], known)
    rate, steps, width = known[name]
    # The paper's notebooks decay these rates, but not those of TinyNN on the cycle.
    fades = architecture == GPT or (architecture in (NN, FROZEN) and shape != "cycle")
    return Training(
        architecture=architecture,
        rate=rate,
        steps=min(steps, most or steps),
        width=width,
        fades=fades,
    )


def trial(
    how: Training | Node2VecDescent,
    world: Graph,
    condition: str | None = None,
    variant: Variant = UNCHANGED,
    **labels: Value,
) -> Trial:
    """Return the trial of an architecture that learns a graph.

    Args:
        how: Settings of training, or of Node2Vec and its gradient descent.
        world: Config of the graph.
        condition: Name of the condition (``the code's``, ``the code's, bf16`` or
            ``ours``, see :func:`trials`), which becomes a label. If ``None`` (the
            default), the trial has no label ``condition``. Node2Vec and its graph are
            the same in all conditions.
        variant: Changes to the model; by default none.
        **labels: Further labels, which become columns of the tables.

    Returns:
        The trial, with the given labels and with ``condition`` unless it is ``None``.

    Raises:
        ConfigError: The condition is unknown (not checked for Node2Vec), or a value is
            out of range for the graph, the model or its training.
    """
    if condition is not None:
        labels["condition"] = condition
        if isinstance(how, Training) and (told := vocabulary_of(condition)):
            how = replace(how, condition=condition)
            world = replace(world, **told)
    return Trial(
        labels=labels,
        world=world,
        model=variant.of(how.model),
        learner=how.learner,
    )


def trials(
    shapes: Sequence[Shape],
    architectures: Sequence[str],
    most: int | None = None,
    descent: Node2VecDescent | None = None,
    *,
    shuffled: bool = True,
    conditions: Sequence[str] = CONDITIONS,
    variant: Variant = UNCHANGED,
) -> list[Trial]:
    """Return the trials of architectures on tiny graphs, one for each condition.

    The conditions are ``the code's`` (the vocabulary, initialisation and schedule of
    the paper's code), ``the code's, bf16`` (the same in emulated bfloat16, which the
    code uses on a GPU) and ``ours`` (our own, simpler vocabulary and initialisation).

    Args:
        shapes: Names of the graphs, any of :data:`GRAPHS`.
        architectures: Names of the architectures: ``Node2Vec``, ``TinyGPT``,
            ``TinySSM`` (a Mamba), ``TinyNN`` or ``associative`` (TinyNN with frozen
            embeddings).
        most: Maximum number of updates, except for Node2Vec. If ``None`` (the default)
            or 0, the paper's numbers are used.
        descent: Settings of Node2Vec. If ``None`` (the default), ``Node2VecDescent()``
            is used.
        shuffled: Whether nodes are numbered in a random order (the default). Otherwise
            neighbours have similar numbers.
        conditions: Names of the conditions; by default ``the code's`` and ``ours``.
        variant: Changes to TinyGPT and TinySSM; by default none.

    Returns:
        One trial per condition, graph and architecture, in this order, with the labels
        ``graph``, ``architecture`` and ``condition``.

    Raises:
        ConfigError: The paper does not train an architecture on a graph, a condition is
            unknown, a value is out of range, or ``variant`` changes a model that is not
            among ``architectures``.
    """
    variant.check(architectures, GPT, SSM)
    node2vec = descent or Node2VecDescent()
    made = []
    for condition, shape, name in product(conditions, shapes, architectures):
        how = node2vec if name == NODE2VEC else training(name, shape, most=most)
        world = Graph(shape=shape, shuffled=shuffled)
        labels = {"graph": shape, "architecture": name}
        made.append(trial(how, world, condition, variant, **labels))
    return made


def vocabulary_of(condition: str) -> Mapping[str, Any]:
    """Return the settings of a graph's vocabulary in a condition.

    Args:
        condition: ``the code's``, ``the code's, bf16`` or ``ours``.

    Returns:
        Settings of :class:`~inweights.worlds.Graph` by name: ``idle_tokens`` (8) and
        ``edge_token`` (true); an empty mapping for ``ours``.

    Raises:
        ConfigError: The condition is unknown.
    """
    check_names("condition", [condition], OF_PRECISION)
    return {} if condition == PLAIN else RESERVED
