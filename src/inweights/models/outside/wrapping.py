"""Use any ``torch.nn.Module`` as a model: :func:`wrap` of a factory, a module or a folder.

A factory becomes an architecture (:class:`WrapConfig`). A trained module becomes a
model with its weights (:class:`~inweights.models.outside.trained_model.Trained`).
Wrapping a factory does not import torch.
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
    """Return a ``torch.nn.Module`` wrapped as a model of this library.

    A **factory** creates a new module for each seed. It becomes an architecture that
    can be used wherever the library takes a model's config, such as in
    :func:`~inweights.sweep`. Its replicas are computed together: their parameters are
    stacked, and the module is called under ``torch.func.vmap``. If an operation does
    not support ``vmap``, the replicas are called one after another.

    An existing **module**, a list of modules or the folder of a Hugging Face model
    becomes a model with a copy of its weights, with one replica per module. The module
    is called as usual, not under ``vmap``, so that its logits on a CPU are bitwise
    equal to the logits of the original module.

    Args:
        factory: A function ``factory(vocabulary, **options)`` that returns a new
            module. The module maps token ids ``[B, T]`` to logits ``[B, T, V]``, or to
            logits of the last position, ``[B, V]`` or ``[B, 1, V]``. It may also return
            an object whose attribute ``.logits`` contains such logits. Instead of a
            function, ``factory`` may be a ``transformers`` config, from which a causal
            language model is built; a trained module; a list of trained modules of one
            architecture; or a folder with ``config.json`` and safetensors.
        logits: Function of the module's output that returns the logits; needed only if
            the output has a form that is not described under ``factory``.
        options: Further arguments of a factory, which a sweep can vary as
            ``model.options.NAME``: numbers, strings, dates, arrays, and lists and
            dictionaries of these. They are passed unchanged. A string or path that
            names a file, or an :class:`~inweights.experiments.Outside`, is identified
            by the content of the file.

            For trained modules, the options are ``tokens``, ``vocabulary`` and
            ``answers``. ``tokens`` are the token ids that the module reads for each
            name of the world: ``{"ann": 17}``, or a list in the world's order. A name
            may consist of several ids, as in ``{"ann": [17, 4]}``. ``vocabulary`` is
            the world's vocabulary, or its number of tokens. Without ``tokens``, the
            world's ids are passed to the module unchanged. If neither ``tokens`` nor
            ``vocabulary`` is given, the world must have the same number of tokens as
            the module. If the name of an answer consists of several ids, its score is
            the score of the first id (``answers="first"``, the default), or the sum of
            the log-probabilities of all ids (``answers="sum"``). With ``sum``, the
            module reads each prompt once more for every further id.

    Returns:
        For a factory, a :class:`WrapConfig`, whose ``build`` creates models. For trained
        modules, the model itself, with one replica for each module.

    Raises:
        ConfigError: The argument is neither a factory, a module, a list of modules nor
            a folder; the factory does not have one of the options, or uses an existing
            module; the modules differ in architecture, or cannot be replicas (see
            :meth:`WrapConfig.build`); an option cannot be stored exactly (the message
            states what to write instead); ``answers`` is not one of its two values; or
            ``transformers`` is needed and not installed.
        DataError: A name of the world has no token id, two names have the same ids, an
            id does not exist in the module, the world has more tokens than the module,
            or there is no such folder or no model in it.

    Warns:
        CautionWarning: A name consists of several token ids; the message states how
            such a name is scored as an answer.

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
                "a functools.partial may bind only keyword arguments; see iw.wrap"
            )
        factory, options = factory.func, {**factory.keywords, **options}
    # A config is recognised by its methods, so that transformers need not be imported.
    if hasattr(factory, "model_type") and hasattr(factory, "to_diff_dict"):
        stated = as_json(factory.to_diff_dict())
        options = {**stated, "model_type": factory.model_type, **options}
        # The version of transformers is left out, because an update must not change the
        # key of a model.
        options.pop("transformers_version", None)
        factory = causal_lm
    if not callable(factory) or not first_argument(factory):
        raise ConfigError(
            f"a factory must have the number of tokens as its first argument, got {factory!r}; "
            f"write {_EXAMPLE}, or pass a trained module itself"
        )
    _check_makes_new(factory)
    options = _with_defaults(factory, options)
    return WrapConfig(
        factory=code_of(factory),
        options=given_options(options),
        logits=None if logits is None else code_of(logits),
    )


def _is_trained(given: Any) -> bool:
    """Return whether the argument is a module, several modules or a path; torch is not imported."""
    if isinstance(given, str | Path):
        return True
    if isinstance(given, list | tuple):
        return bool(given) and all(map(_is_trained, given))
    return hasattr(given, "named_parameters") and not isinstance(given, type)


def _check_makes_new(factory: Callable[..., Any]) -> None:
    """Raise an error if a factory uses an existing module, which all replicas would share."""
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
                f"the factory uses '{name}', an existing {type(value).__name__}, which all "
                f"replicas would share and train. To use its weights, write iw.wrap({name}), which "
                "copies them. To start from new initial values for each seed, make the module "
                f"within the factory, {_EXAMPLE}"
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
    """Return the given options plus simple defaults for the rest, which a sweep can also vary."""
    _, *others = inspect.signature(factory).parameters.values()
    if not any(one.kind == inspect.Parameter.VAR_KEYWORD for one in others):
        check_names("option of the factory", options, [one.name for one in others])
    plain = (bool, int, float, str)
    given = {one.name: one.default for one in others if isinstance(one.default, plain)}
    return {**given, **options}


def wrap_named(about: Mapping[str, Any]) -> WrapConfig:
    """Return the config that a TOML table describes, such as ``{wrap = "mine:make", width = 8}``.

    Args:
        about: The table. The key ``wrap`` is required; its value is the factory, as
            ``module:function``. The key ``logits`` is optional; its value is a function
            in the same form. All other keys are options of the factory.

    Raises:
        ConfigError: The factory or the function is not in an imported module; the first
            argument of the factory is not called ``vocabulary``, or the first argument
            of the function ``logits`` is not called ``output``; the factory does not
            have one of the options; or an option cannot be stored exactly.
        KeyError: The table has no ``wrap``.
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
    """Return a new, untrained causal language model of ``transformers``.

    Args:
        vocabulary: Number of tokens. Ids of special tokens that are not below this
            number are set to ``None``.
        model_type: Kind of the model, as ``transformers`` names it, such as ``llama``.
        **settings: Further settings of the model's config.

    Returns:
        A ``PreTrainedModel``, whose initial values are drawn from torch's global
        generator.

    Raises:
        ConfigError: ``transformers`` is not installed, has no such kind of model, or
            raises a ``ValueError`` for the settings.
        Exception: Any other error raised by ``transformers``.
    """
    transformers = optional("hf", "a config of transformers")
    # Special tokens of a published model may be ids beyond a small vocabulary.
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
