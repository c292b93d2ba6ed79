"""Define the settings of a fine-tuning run, without importing torch.

:class:`FineTune` is the config, and :data:`DEFAULT` the settings of ``inweights
finetune`` without options.
"""

import math
from typing import Literal

from inweights.config import Config
from inweights.errors import ConfigError


class FineTune(Config):
    """Settings of fine-tuning with AdamW; there is no dropout, since facts are to be memorised.

    Attributes:
        method: ``lora`` (by default) trains low-rank adapters (Hu et al. 2021,
            arXiv:2106.09685), which are merged into the weights at the end; ``full``
            trains all weights.
        rate: Peak learning rate; by default 1e-3, which suits ``lora``; 5e-5 suits
            ``full``.
        weight_decay: Weight decay of AdamW; by default 0.
        epochs: Maximum number of passes over the examples of each stage; by default 10.
        until: Share of known examples, from 0 to 1, at which a stage ends before its
            last pass. An example is known if in the latest pass, just before the update
            that trains on it, each token of its completion was the token that the model
            predicted as most likely. Texts of ``replay`` are not counted. If it is 0
            (the default), no stage ends early.
        batch_tokens: Maximum number of tokens in a batch, padding included; by default
            256. A longer example forms a batch of its own.
        warmup: Share of a stage's updates over which the learning rate rises linearly
            to ``rate``; by default .1.
        schedule: Learning rate after the warmup: ``constant``, or a ``linear`` (by
            default) or ``cosine`` decay to zero.
        clip: Maximum norm of the gradient; by default 1. Larger gradients are scaled
            down. If it is 0, gradients are not clipped.
        rank: Rank of the adapters, for the method ``lora``; by default 16.
        alpha: Scale of the adapters, which are multiplied by ``alpha / rank``; by
            default 32.
        variant: Kind of adapter: ``lora`` (by default); ``rslora``, which multiplies by
            ``alpha / √rank`` (Kalajdzievski 2023, arXiv:2312.03732); or ``dora``, which
            trains the magnitudes of the weights separately from their directions (Liu
            et al. 2024, arXiv:2402.09353).
        end: Whether to train the model to predict the end-of-text token after each
            completion, so that it stops after an answer; by default True.
        replay: Number of tokens of the model's own texts per token of the examples,
            from 0 to 4; by default 0, which means no such texts. The model writes these
            texts before its training. Every update also minimises the KL divergence
            from the model's former predictions on these texts, so that the model
            forgets less (Li & Hoiem 2016, Learning without Forgetting,
            arXiv:1606.09282).
        precision: ``fp32`` (by default); or ``bf16``, which computes only matrix
            products in bfloat16 (autocast).
        layout: How a batch is computed: ``padded`` (by default), with each example
            padded to the longest; or ``packed``, with the examples concatenated. In a
            packed batch, a prefix that several examples share is computed only once,
            and a linear layer and its adapter are one operation. The loss is the same
            up to rounding. If a model cannot treat packed examples separately, they are
            padded, with a warning.

    Raises:
        ConfigError: A setting is out of range: ``rate``, ``epochs``, ``batch_tokens``,
            ``rank`` and ``alpha`` must be above 0 and at most 1e9, ``clip`` and
            ``weight_decay`` from 0 to 1e9, ``warmup`` at least 0 and below 1, ``until``
            from 0 to 1, and ``replay`` from 0 to 4.
    """

    later = {"replay": 0.0, "until": 0.0, "variant": "lora", "layout": "padded"}

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
    layout: Literal["padded", "packed"] = "padded"

    def __post_init__(self) -> None:
        for name in ("rate", "epochs", "batch_tokens", "rank", "alpha"):
            if not 0 < getattr(self, name) <= 1e9:
                raise ConfigError(
                    f"{name} must be above 0 and at most 1e9, got {getattr(self, name)}"
                )
        if not 0 <= self.replay <= 4:
            raise ConfigError(f"replay must be from 0 to 4, got {self.replay}")
        if not 0 <= self.until <= 1:
            raise ConfigError(
                f"'until' must be a fraction from 0 to 1, got {self.until}"
            )
        if not 0 <= self.warmup < 1:
            raise ConfigError(
                f"'warmup' must be at least 0 and below 1, got {self.warmup}"
            )
        if not 0 <= self.clip <= 1e9 or not 0 <= self.weight_decay <= 1e9:
            raise ConfigError("clip and weight_decay must be from 0 to 1e9")

    def factor(self, step: int, steps: int) -> float:
        """Return the factor by which the peak learning rate is multiplied at an update of a stage.

        The factor rises linearly during the warmup and then follows :attr:`schedule`:
        it stays at 1, or falls towards 0 linearly or along a cosine curve.

        Args:
            step: Index of the update, from 0.
            steps: Number of updates of the stage.

        Returns:
            A factor from 0 to 1.

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


#: Default settings of ``inweights finetune``. One token of the model's own texts is
#: replayed per token of the facts, so that earlier knowledge is kept. The training ends
#: when all facts are known, and no padding is computed.
DEFAULT = FineTune(
    replay=1.0,
    until=1.0,
    epochs=12,
    batch_tokens=128,
    layout="packed",
)
