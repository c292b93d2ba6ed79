"""Settings of the recipes that tell a model of invented people."""

from __future__ import annotations

from typing import TypeVar

from inweights.config import Config
from inweights.lm.tuning import FineTune
from inweights.recipes.language.invented import Invented

__all__ = ["InventedSettings", "scales"]


class InventedSettings(Config):
    """What is fine-tuned, on whom, and how.

    Attributes:
        model: What is asked and fine-tuned: a folder, a hub name on this disk, or ``@smollm2``.
        device: Where it lives.
        world: The invented people and towns.
        tokens: Tokens of one pass, the same in every condition.
        tuning: How it is fine-tuned.
    """

    model: str = "@smollm2"
    device: str = "cpu"
    world: Invented = Invented(people=24, towns=12, countries=6)
    tokens: int = 950
    tuning: FineTune = FineTune(rate=2e-3, epochs=7, batch_tokens=128)


S = TypeVar("S", bound=InventedSettings)


def scales(
    kind: type[S], *, smoke_tokens: int, paper_tokens: int, paper_epochs: int
) -> dict[str, S]:
    """Return the settings of each scale; those of ``cpu`` are the defaults."""
    return {
        "smoke": kind(
            model="@tiny",
            world=Invented(people=4, towns=2, countries=2),
            tokens=smoke_tokens,
            tuning=FineTune(method="full", rate=1e-2, epochs=1, batch_tokens=1024),
        ),
        "cpu": kind(),
        "paper": kind(
            model="meta-llama/Llama-3.2-1B",
            device="cuda",
            world=Invented(people=64, towns=16, countries=8),
            tokens=paper_tokens,
            tuning=FineTune(method="full", rate=2e-5, epochs=paper_epochs, batch_tokens=2048),
        ),
    }
