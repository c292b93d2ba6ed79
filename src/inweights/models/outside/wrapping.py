"""Any ``torch.nn.Module`` as a model: :func:`wrap` of a factory, of a module or of a folder.

A factory becomes an architecture (:class:`WrapConfig`), a trained module a model with
its weights (:class:`~inweights.models.outside.trained_model.Trained`). It loads no
torch for a factory.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from inweights.config.border import as_json
from inweights.errors import ConfigError, check_names
from inweights.models.outside.module_configs import WrapConfig, as_model
from inweights.support.extras import optional
from inweights.support.keys.code import Code, code_of, first_argument, given_options

if TYPE_CHECKING:
    from torch import nn

    from inweights.models.outside.token_ids import Tokens
    from inweights.models.outside.trained_model import Trained
    from inweights.worlds.vocabulary import Vocabulary

_EXAMPLE = "iw.wrap(lambda vocabulary: MyModule(vocabulary, width=64))"


@overload
def wrap(  # type: ignore[overload-overlap]  # a module can be called, too
    factory: nn.Module | Sequence[nn.Module] | str | Path,
    *,
    logits: Callable[[Any], Any] | None = None,
    tokens: Tokens | None = None,
    vocabulary: Vocabulary | int | None = None,
) -> Trained: ...
@overload
def wrap(
    factory: Callable[..., Any],
    *,
    logits: Callable[[Any], Any] | None = None,
    **options: Any,
) -> WrapConfig: ...
@overload
def wrap(factory: Any, *, logits: Any = None, **options: Any) -> Any: ...
def wrap(
    factory: Any, *, logits: Callable[[Any], Any] | None = None, **options: Any
) -> Any:
    """Return any ``torch.nn.Module`` as a model of this library.

    A **factory** creates a new module for each seed: it becomes an architecture that
    can be used in :func:`~inweights.sweep` and everywhere else. Its replicas are one
    tensor program: parameters are stacked, and the module is called under
    ``torch.func.vmap``. Where that is impossible, they are called one after another.

    A **module** that exists already, a list of modules or the folder of a Hugging Face
    model is taken as it is: it becomes a model with a copy of its weights, one replica
    each. It is called as its owner calls it, so that its logits are the same to the
    last bit on a CPU.

    Args:
        factory: ``factory(vocabulary, **options)`` returns a new module that reads
            token ids ``[B, T]`` and returns logits: ``[B, T, V]``, or ``[B, V]`` or
            ``[B, 1, V]`` of the last position, or an object with such ``.logits``. Or a
            ``transformers`` config, from which a causal language model is built. Or a
            trained module, a list of them (of one architecture), or a folder with
            ``config.json`` and safetensors.
        logits: A function of the module's output that returns the logits, if they are
            elsewhere.
        options: Further arguments of the factory, which a sweep can vary as
            ``model.options.NAME``: numbers, texts, dates, arrays, and lists and tables
            of them. They are passed unchanged. A text or path that names a file,
            or an
            :class:`~inweights.experiments.Outside`, counts with the content of the
            file.

            Of trained modules ``tokens``, ``vocabulary`` and ``answers`` instead.
            ``tokens`` say which ids the module reads for each name of the world,
            ``{"ann": 17}``
            or a list in the world's order; a name may be several ids, ``{"ann": [17,
            4]}``.
            ``vocabulary`` is that of the world, or its number of tokens. Without
            ``tokens`` the world's ids are the module's own; without both the world must
            have as many tokens as the module. A name of several ids counts as an answer
            by its first, or with ``answers="sum"`` by the sum of the log-probabilities
            of all of them, which reads a prompt once more for each further id.

    Returns:
        For a factory, a :class:`WrapConfig` whose ``build`` makes models; for trained
        modules, the model itself, with one replica for each module.

    Raises:
        ConfigError: It is neither a factory nor a module, the modules differ in
            architecture, or an option cannot be stored exactly; says what to write
            instead.
        DataError: A name of the world has no token id, or the folder holds no model.

    Example:
        >>> import torch
        >>> from torch import nn
        >>> def bigram(vocabulary):
        ...     return nn.Embedding(vocabulary, vocabulary)
        >>> model = wrap(bigram).build(vocabulary=9, seeds=[0, 1])
        >>> tuple(model(torch.tensor([[1, 2]])).shape)
        (2, 1, 2, 9)
        >>> mine = bigram(9)  # trained elsewhere
        >>> torch.equal(wrap(mine)(torch.tensor([[1, 2]]))[0], mine(torch.tensor([[1, 2]])))
        True
    """
    if _is_trained(factory):
        return _trained(factory, logits, options)
    if isinstance(factory, partial):
        if factory.args:
            raise ConfigError(
                "a partial must bind keyword arguments alone; see iw.wrap"
            )
        factory, options = factory.func, {**factory.keywords, **options}
    # Known by its methods, so that transformers need not be imported for it.
    if hasattr(factory, "model_type") and hasattr(factory, "to_diff_dict"):
        stated = as_json(factory.to_diff_dict())
        options = {**stated, "model_type": factory.model_type, **options}
        # The version of a library is no setting: an update must not make another model.
        options.pop("transformers_version", None)
        factory = causal_lm
    if not callable(factory) or not first_argument(factory):
        raise ConfigError(
            f"a factory takes the number of tokens as its first argument, got {factory!r}; "
            f"write {_EXAMPLE}, or give a trained module itself"
        )
    _check_makes_new(factory)
    options = _with_defaults(factory, options)
    return WrapConfig(
        factory=code_of(factory),
        options=given_options(options),
        logits=None if logits is None else code_of(logits),
    )


def _is_trained(given: Any) -> bool:
    """Return whether it is one or several modules, or a folder; without loading torch."""
    if isinstance(given, str | Path):
        return True
    if isinstance(given, list | tuple):
        return bool(given) and all(map(_is_trained, given))
    return hasattr(given, "named_parameters") and not isinstance(given, type)


def _check_makes_new(factory: Callable[..., Any]) -> None:
    """Refuse a function that has a module already, which all replicas would share and train."""
    cells = getattr(factory, "__closure__", None) or ()
    code = getattr(factory, "__code__", None)
    around: Mapping[str, Any] = {}
    if factory.__module__ == "__main__":
        around = getattr(factory, "__globals__", {})
    used = [name for name in getattr(code, "co_names", ()) if name in around]
    named = {name: around[name] for name in used}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells, strict=True):
        named[name] = cell.cell_contents
    for name, value in named.items():
        if hasattr(value, "named_parameters") and not isinstance(value, type):
            raise ConfigError(
                f"the factory uses '{name}', a {type(value).__name__} that is there already: all "
                f"replicas would share and train it. With the weights that it has, write "
                f"iw.wrap({name}), which copies them; to start anew from each seed, make the "
                f"module in the factory, {_EXAMPLE}"
            )


def _trained(
    given: Any, logits: Callable[[Any], Any] | None, options: Mapping[str, Any]
) -> Any:
    from inweights.models.outside.instances import from_folder

    check_names(
        "option of a trained module", options, ("tokens", "vocabulary", "answers")
    )
    modules = from_folder(str(given)) if isinstance(given, str | Path) else given
    return as_model(modules, logits=logits, **options)


def _with_defaults(
    factory: Callable[..., Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """Options with the plain defaults of the others, so that a sweep can vary each of them."""
    _, *others = inspect.signature(factory).parameters.values()
    if not any(one.kind == inspect.Parameter.VAR_KEYWORD for one in others):
        check_names("option of the factory", options, [one.name for one in others])
    plain = (bool, int, float, str)
    given = {one.name: one.default for one in others if isinstance(one.default, plain)}
    return {**given, **options}


def wrap_named(about: Mapping[str, Any]) -> WrapConfig:
    """Return the config of a table in a file, ``{wrap = "mine:make", width = 64}``.

    Args:
        about: The table: ``wrap``, the factory as ``module:function``; ``logits``, a
            function in the same form, if needed; and the options of the factory.
    """
    options = dict(about)
    factory = str(options.pop("wrap"))
    logits = options.pop("logits", None)
    return wrap(
        Code(at=factory).load("vocabulary"),
        logits=None if logits is None else Code(at=str(logits)).load("output"),
        **options,
    )


def causal_lm(vocabulary: int, *, model_type: str, **settings: Any) -> Any:
    """Return a causal language model of ``transformers``, untrained.

    Args:
        vocabulary: Number of tokens.
        model_type: Its kind, such as ``llama``.
        **settings: Further settings of its config.

    Raises:
        ConfigError: ``transformers`` has no such kind, or the settings do not fit.
    """
    transformers = optional("hf", "a config of transformers")
    # Special tokens of the published vocabulary lie outside a small one.
    for token in ("bos_token_id", "eos_token_id", "pad_token_id"):
        if isinstance(settings.get(token), int) and settings[token] >= vocabulary:
            settings[token] = None
    try:
        config = transformers.AutoConfig.for_model(
            model_type, **{**settings, "vocab_size": vocabulary, "use_cache": False}
        )
        return transformers.AutoModelForCausalLM.from_config(
            config, attn_implementation="eager"
        )
    except ValueError as error:
        raise ConfigError(
            f"transformers cannot make a '{model_type}': {error}"
        ) from None
