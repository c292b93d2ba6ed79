"""Define the models that ``beyond/geometry-disputed`` trains, and how they are trained."""

from itertools import product

import inweights as iw
from inweights.experiments import Curriculum
from inweights.models.configs import MambaConfig, ModelConfig, TinyNNConfig

GPT = "GPT"
DEEP = "GPT, 3 layers"
MAMBA = "Mamba"
NN = "TinyNN"
BARE = "GPT, no residual"
TIED = "tied"
UNTIED = "untied"
USUAL = "usual"
#: Models, each with the heads (tied or untied) with which it is trained.
MODELS = (
    *((name, head) for name, head in product((GPT, DEEP, MAMBA), (TIED, UNTIED))),
    (NN, TIED),
    (BARE, TIED),
)


def trained(steps: int, rate: float, training: str) -> Curriculum:
    """Return the usual curriculum, or a variant with a low learning rate or with weight decay.

    Args:
        steps: Number of updates of the usual curriculum, at least 0.
        rate: Peak learning rate of the usual curriculum, above 0. The rate decays to 0
            along a cosine.
        training: ``usual`` (no weight decay), ``low rate`` (a third of the rate, three
            times as many updates) or ``decay`` (weight decay 0.1). Any other name has
            the same effect as ``usual``.

    Returns:
        A curriculum with one phase of full-batch AdamW.

    Raises:
        ConfigError: ``steps`` is negative, or ``rate`` is not positive and finite.
    """
    peak = rate / 3 if training == "low rate" else rate
    decay = 0.1 if training == "decay" else 0.0
    phase = iw.Phase(
        steps=steps * (3 if training == "low rate" else 1),
        pooled=True,
        optimizer=iw.Optimizer(rate=peak, weight_decay=decay),
        schedule=iw.Schedule(kind="cosine"),
    )
    return Curriculum(phases=(phase,))


def model_of(name: str, width: int, *, tied: bool) -> ModelConfig:
    """Return the config of a model, given its name in the figures.

    Args:
        name: ``GPT``, ``GPT, 3 layers``, ``GPT, no residual``, ``Mamba`` or ``TinyNN``;
            any other name gives the config of ``GPT``.
        width: Embedding width of the model, from 1 to 65,536.
        tied: Whether the head shares the weights of the embedding. It has no effect on
            TinyNN.

    Returns:
        The config. ``GPT, 3 layers`` has three layers; all other models have one.

    Raises:
        ConfigError: ``width`` is out of range.
    """
    if name == MAMBA:
        return MambaConfig(layers=1, width=width, tied=tied)
    if name == NN:
        return TinyNNConfig(width=width)
    layers = 3 if name == DEEP else 1
    return iw.GPTConfig(
        layers=layers, heads=1, width=width, tied=tied, residual=name != BARE
    )
