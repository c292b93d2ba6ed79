"""Define settings of the tiny models in which the paper's text and its code differ.

:class:`Variant` is a setting of the recipes about tiny graphs. It changes the positions
of TinyGPT and the block of TinySSM; its default changes nothing.
"""

from collections.abc import Sequence
from typing import Any, Literal

from msgspec.structs import replace

import inweights as iw
from inweights.errors import ConfigError
from inweights.experiments import ModelConfig
from inweights.models.configs import MambaConfig
from inweights.recipes.shared import position_conditions as conditions

Positions = Literal["as-trained", "small", "unit", "sinusoidal", "none"]
Block = Literal["mamba", "code", "code-residual"]

_POSITIONS: dict[str, dict[str, Any]] = {
    "small": conditions.CHANGES[conditions.SMALL],
    "unit": conditions.CHANGES[conditions.UNIT],
    "sinusoidal": conditions.CHANGES[conditions.WAVES],
    "none": conditions.CHANGES[conditions.NONE],
}
_BLOCKS: dict[str, dict[str, Any]] = {
    "mamba": conditions.BLOCKS[conditions.ADDS],
    "code": conditions.BLOCKS[conditions.CODE],
    "code-residual": conditions.BLOCKS[conditions.CODE_ADDS],
}


class Variant(iw.Config):
    """Changes to TinyGPT and TinySSM that apply in every condition of a recipe.

    A value of the wrong type raises a ``ConfigError``; ranges are checked when the
    config is used.

    Attributes:
        positions: Position embeddings of TinyGPT: ``small`` (learned, initialised from
            N(0, .02²)), ``unit`` (learned, from N(0, 1)), ``sinusoidal`` or ``none``.
            The default, ``as-trained``, keeps those of the condition.
        block: Block of TinySSM: ``mamba`` (the default), the block of Mamba's authors;
            ``code``, the block of the paper's code, without a residual stream;
            ``code-residual``, this block with an added residual stream.
    """

    positions: Positions = "as-trained"
    block: Block = "mamba"

    def of(self, model: ModelConfig) -> ModelConfig:
        """Return the config of a model with the changes applied.

        Args:
            model: Config of a model. A GPT is treated as TinyGPT, and a Mamba as
                TinySSM; other models are returned unchanged.

        Returns:
            The changed config, or ``model`` itself if nothing changes. The given config
            is not modified.

        Example:
            >>> Variant(positions="none").of(iw.GPTConfig(layers=1)).positions
            'none'
        """
        if isinstance(model, iw.GPTConfig) and self.positions != "as-trained":
            plain = replace(model, positions="learned", position_std=None)
            return replace(plain, **_POSITIONS[self.positions])
        if isinstance(model, MambaConfig):
            return replace(model, **_BLOCKS[self.block])
        return model

    def check(self, models: Sequence[str], gpt: str, ssm: str) -> None:
        """Raise an error if a changed field belongs to a model that is not trained.

        Args:
            models: Names of the models that are trained.
            gpt: Name of TinyGPT in ``models``.
            ssm: Name of TinySSM in ``models``.

        Raises:
            ConfigError: ``positions`` is changed and TinyGPT is not among ``models``,
                or ``block`` is changed and TinySSM is not.
        """
        for setting, name in (("positions", gpt), ("block", ssm)):
            given = getattr(self, setting)
            if given != getattr(UNCHANGED, setting) and name not in models:
                raise ConfigError(
                    f"variant.{setting} = '{given}' has no effect: {name} is not among "
                    f"the models, which are {', '.join(models)}"
                )


#: The variant that changes nothing.
UNCHANGED = Variant()
