"""Any ``torch.nn.Module`` as an architecture: ``iw.wrap(factory)`` is its config, without torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from inweights.config import Config
from inweights.config.border import as_json
from inweights.errors import ConfigError, check_names
from inweights.models.model_config import Start
from inweights.seeds import as_seeds
from inweights.support.code import Code, code_of, first_argument, given_options
from inweights.support.extras import optional
from inweights.support.named_files import files_of

if TYPE_CHECKING:
    from inweights.models.outside.wrapped import Wrapped

_EXAMPLE = "iw.wrap(lambda vocabulary: MyModule(vocabulary, width=64))"


class WrapConfig(Config, tag_field="kind", tag="wrap"):
    """A factory of modules as an architecture; :func:`wrap` makes it.

    Attributes:
        factory: ``factory(vocabulary, **options)`` returns a new module.
        options: Its keyword arguments.
        logits: ``logits(output)`` returns the logits, where the module's output is not theirs.
    """

    factory: Code
    options: dict[str, Any] = {}
    logits: Code | None = None

    def build(self, **start: Unpack[Start]) -> Wrapped:
        """Build the model, one replica a seed; it seeds torch, NumPy and ``random`` meanwhile.

        The initialisation is the module's own, and it gives logits for all tokens: ``inits``
        and ``candidates`` are unused.

        Raises:
            ConfigError: The module does not read ``[B, T]`` tokens and give their logits, or
                cannot be trained replica by replica; says why.
        """
        from inweights.models.outside.wrapped import Wrapped

        return Wrapped(self, vocabulary=start["vocabulary"], seeds=as_seeds(start["seeds"]))

    @property
    def contents(self) -> dict[str, str]:
        """The hash of each file that an option names."""
        return files_of(self.options)

    @property
    def make(self) -> Callable[[int], Any]:
        """The factory with its options."""
        return partial(self.factory.load("vocabulary"), **deepcopy(self.options))

    @property
    def label(self) -> str:
        """What tables call it."""
        name = self.factory.at.rpartition(":")[2].rpartition(".")[2]
        return str(self.options.get("model_type", name.strip("<>")))


def wrap(factory: Any, *, logits: Callable[[Any], Any] | None = None, **options: Any) -> WrapConfig:
    """Return any ``torch.nn.Module`` as an architecture, for :func:`~inweights.sweep` and the rest.

    Its replicas are one tensor program: parameters are stacked, and the module is called under
    ``torch.func.vmap``. Where that is impossible, they are called one after another.

    Args:
        factory: ``factory(vocabulary, **options)`` returns a new module that reads token ids
            ``[B, T]`` and returns logits: ``[B, T, V]``, ``[B, V]`` of the last position, or
            an object with such ``.logits``. Or a config of ``transformers``, of which a causal
            language model is made.
        logits: A function of the module's output that returns the logits, if they are
            elsewhere.
        options: Further arguments of the factory, which a sweep can vary as
            ``model.options.NAME``: numbers, texts, dates, arrays, and lists and tables of
            them. They arrive as they were given. A text or path that names a file, or an
            :class:`~inweights.experiments.Outside`, counts with the content of the file.

    Raises:
        ConfigError: It is no factory (a module that exists already cannot be made once more
            for every seed), or an option cannot be stored exactly; says what to write instead.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> def bigram(vocabulary):
        ...     return nn.Embedding(vocabulary, vocabulary)
        >>> model = wrap(bigram).build(vocabulary=9, seeds=[0, 1])
        >>> tuple(model(torch.tensor([[1, 2]])).shape)
        (2, 1, 2, 9)
    """
    if isinstance(factory, partial):
        if factory.args:
            raise ConfigError("a partial must bind keyword arguments alone; see iw.wrap")
        factory, options = factory.func, {**factory.keywords, **options}
    if hasattr(factory, "model_type") and hasattr(factory, "to_diff_dict"):
        stated = as_json(factory.to_diff_dict())
        options = {**stated, "model_type": factory.model_type, **options}
        options.pop("transformers_version", None)
        factory = causal_lm
    elif hasattr(factory, "named_parameters") and not isinstance(factory, type):
        raise ConfigError(
            f"wrap takes what makes a module, as each seed starts anew, and got a "
            f"{type(factory).__name__} that is made already; write {_EXAMPLE}"
        )
    if not callable(factory) or not first_argument(factory):
        raise ConfigError(
            f"a factory takes the number of tokens as its first argument, got {factory!r}; "
            f"write {_EXAMPLE}"
        )
    options = _with_defaults(factory, options)
    return WrapConfig(
        factory=code_of(factory),
        options=given_options(options),
        logits=None if logits is None else code_of(logits),
    )


def _with_defaults(factory: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the plain defaults of the others, so that a sweep can vary each of them."""
    _, *others = inspect.signature(factory).parameters.values()
    if not any(one.kind == inspect.Parameter.VAR_KEYWORD for one in others):
        check_names("option of the factory", options, [one.name for one in others])
    plain = (bool, int, float, str)
    given = {one.name: one.default for one in others if isinstance(one.default, plain)}
    return {**given, **options}


def wrap_named(about: Mapping[str, Any]) -> WrapConfig:
    """Return the config of a table in a file, ``{wrap = "mine:make", width = 64}``."""
    options = dict(about)
    factory, logits = str(options.pop("wrap")), options.pop("logits", None)
    return wrap(
        Code(at=factory).load("vocabulary"),
        logits=None if logits is None else Code(at=str(logits)).load("output"),
        **options,
    )


def causal_lm(vocabulary: int, *, model_type: str, **settings: Any) -> Any:
    """Return a causal language model of ``transformers``, untrained."""
    transformers = optional("hf", "a config of transformers")
    for token in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if isinstance(settings.get(token), int) and settings[token] >= vocabulary:
            settings[token] = None
    try:
        config = transformers.AutoConfig.for_model(
            model_type, **{**settings, "vocab_size": vocabulary, "use_cache": False}
        )
        return transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    except ValueError as error:
        raise ConfigError(f"transformers cannot make a '{model_type}': {error}") from None
