"""Define how a language model is fine-tuned: the settings, apart from the loop. Imports no torch.

:class:`FineTune` is the config, :data:`DEFAULT` what ``inweights finetune`` does
without options.
"""

import math
from typing import Literal

from inweights.config import Config
from inweights.errors import ConfigError


class FineTune(Config):
    """How a model is fine-tuned. AdamW; no dropout, since facts are to be memorised.

    Attributes:
        method: ``lora`` trains adapters (Hu et al. 2021), merged into the weights at
            the end; ``full`` trains all weights.
        rate: Learning rate; 1e-3 suits ``lora``, 5e-5 ``full``.
        weight_decay: Of AdamW.
        epochs: Passes over the examples of each stage, at most.
        until: Share of the examples (those of ``replay`` do not count) that have to be
            known for a stage to end before: in one pass each token of the completion
            was the likeliest, before the update that learns from it. 0 makes all
            passes.
        batch_tokens: Tokens of a batch, with padding.
        warmup: Share of a stage's updates over which the rate rises.
        schedule: What the rate does then: ``constant``, or ``linear`` or ``cosine`` to
            zero.
        clip: Largest norm of the gradient; 0 does not clip.
        rank: Rank of the adapters of ``lora``.
        alpha: Their scale: they are multiplied by ``alpha / rank``.
        variant: ``lora``; ``rslora``, which multiplies by ``alpha / √rank``
            (Kalajdzievski 2023, arXiv:2312.03732); or ``dora``, which trains magnitudes
            apart (Liu et al. 2024, arXiv:2402.09353).
        end: Whether the end of the text is learnt after each completion, so that
            answers end.
        replay: Tokens of texts that the model itself writes before it is trained, for
            each token of the examples; read with them in every update, so that it goes
            on saying what it said (KL divergence; Li & Hoiem 2016, Learning without
            Forgetting, arXiv:1606.09282).
        precision: ``fp32``, or ``bf16`` for the products alone (autocast).
    """

    later = {"replay": 0.0, "until": 0.0, "variant": "lora"}

    method: Literal["lora", "full"] = "lora"
    rate: float = 1e-3
    weight_decay: float = 0.0
    epochs: int = 10
    until: float = 0.0
    batch_tokens: int = 256
    warmup: float = 0.1
    schedule: Literal["constant", "linear", "cosine"] = "linear"
    clip: float = 1.0
    rank: int = 16
    alpha: float = 32.0
    variant: Literal["lora", "rslora", "dora"] = "lora"
    end: bool = True
    replay: float = 0.0
    precision: Literal["fp32", "bf16"] = "fp32"

    def __post_init__(self) -> None:
        for name in ("rate", "epochs", "batch_tokens", "rank", "alpha"):
            if not 0 < getattr(self, name) <= 1e9:
                raise ConfigError(
                    f"{name} must be above 0 and at most 1e9, got {getattr(self, name)}"
                )
        if not 0 <= self.replay <= 4:
            raise ConfigError(f"replay must be from 0 to 4, got {self.replay}")
        if not 0 <= self.until <= 1:
            raise ConfigError(f"until must be a fraction from 0 to 1, got {self.until}")
        if not 0 <= self.warmup < 1:
            raise ConfigError(
                f"warmup must be at least 0 and below 1, got {self.warmup}"
            )
        if not 0 <= self.clip <= 1e9 or not 0 <= self.weight_decay <= 1e9:
            raise ConfigError("clip and weight_decay must be from 0 to 1e9")

    def factor(self, step: int, steps: int) -> float:
        """Return the factor of the learning rate at an update of a stage.

        Args:
            step: Number of the update, from 0.
            steps: Number of updates of the stage.

        Returns:
            From 0 to 1.

        Example:
            >>> FineTune(warmup=0.5).factor(0, 4), FineTune(warmup=0.0).factor(3, 4)
            (0.5, 0.25)
        """
        rising = round(self.warmup * steps)
        if step < rising:
            return (step + 1) / rising
        gone = (step - rising) / max(1, steps - rising)
        if self.schedule == "linear":
            return 1.0 - gone
        if self.schedule == "cosine":
            return 0.5 * (1 + math.cos(math.pi * gone))
        return 1.0


#: What ``inweights finetune`` does unless told otherwise: as much text of the model's
#: own as of the facts, so that it keeps what it knew, and no epoch more than the facts
#: take.
DEFAULT = FineTune(
    replay=1.0,
    until=1.0,
    epochs=12,
    batch_tokens=128,
)
