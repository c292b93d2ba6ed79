"""Load small trained models that come with the library: ``iw.load("two-hop/gpt")``.

Each model has a :class:`Card` with its configs, seeds and accuracy, and the claim that
it illustrates. Weights are stored as safetensors, one file per model. ``python -m
benchmarks.zoo`` in a clone of the repository trains all of them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from inweights.actions.configs import from_dict
from inweights.config import Config, decode
from inweights.errors import check_names

if TYPE_CHECKING:
    import torch

    from inweights.models.base import Model
    from inweights.worlds.world import World

__all__ = ["Card", "Stored", "cards", "load", "weights"]

_HERE = Path(__file__).parent
CARDS = _HERE / "cards.json"
WEIGHTS = _HERE / "weights"


class Card(Config):
    """Description of a stored model.

    Attributes:
        name: Name of the model, ``<world>/<architecture>``.
        claim: The sentence that the model illustrates.
        world: Config of the world, as :func:`inweights.to_dict` writes it; the world is
            built with seed 0.
        model: Config of the architecture, in the same form.
        learner: Config of the training or of the solver, in the same form.
        seeds: Root seed of each replica.
        accuracy: Mean accuracy over replicas, from 0 to 1, by part (``facts`` or
            ``queries``) and role of the statements, such as ``facts/first_hop``.
        hop_correlation: If the world is a graph, the rank correlation between the
            cosine of two nodes' embeddings and their distance in hops; otherwise
            ``None``.
        bytes: Size of the file of weights in bytes.
    """

    name: str
    claim: str
    world: dict[str, Any]
    model: dict[str, Any]
    learner: dict[str, Any]
    seeds: tuple[int, ...]
    accuracy: dict[str, float] = {}
    hop_correlation: float | None = None
    bytes: int = 0


@dataclass(frozen=True)
class Stored:
    """A stored model with its card and its world.

    Attributes:
        card: Description of the model.
        model: The trained model, with one replica per seed of the card.
    """

    card: Card
    model: Model

    @cached_property
    def world(self) -> World:
        """The world on which the model was trained, built with seed 0 on first access."""
        built: World = from_dict(self.card.world).build(0)
        return built


@cache
def cards() -> tuple[Card, ...]:
    """Return the cards of all stored models, one per model, without loading their weights.

    Example:
        >>> cards()[0].name
        'two-hop/gpt'
    """
    listed = msgspec.json.decode(CARDS.read_bytes(), type=list[dict[str, Any]])
    return tuple(decode(Card, one) for one in listed)


def load(name: str, device: torch.device | str = "cpu") -> Stored:
    """Load a small trained model that comes with the library.

    Args:
        name: Name of the model, as ``inweights models`` lists it.
        device: Torch device of the model; by default ``cpu``.

    Returns:
        The model with its card and its world.

    Raises:
        ConfigError: There is no model of this name (the message suggests similar
            names), or this machine has no such device.

    Example:
        >>> import inweights as iw
        >>> stored = iw.load("two-hop/emb-mlp")
        >>> iw.probes.accuracy(stored.model, stored.world)["accuracy"].min()
        1.0
    """
    from inweights.models.save import load_model

    known = {card.name: card for card in cards()}
    check_names("stored model", [name], known)
    return Stored(known[name], load_model(weights(name), device))


def weights(name: str) -> Path:
    """Return the path of the safetensors file with a stored model's weights.

    Args:
        name: Name of the model, as ``inweights models`` lists it. The function does not
            check whether such a model exists.
    """
    return WEIGHTS / f"{name.replace('/', '--')}.safetensors"
