"""Build a model from a config, or from the replicas of other models.

:func:`build_model` implements the method ``build`` of every config in ``configs``: it
imports the architecture, creates the model and draws its initial values. The table
``ARCHITECTURES`` maps configs, which do not import modules, to the classes of models.
An architecture and torch are imported when the first model of the architecture is
built. :func:`join_replicas` builds one model from several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from inweights.errors import ConfigError, check_names
from inweights.seeds import as_seeds

if TYPE_CHECKING:
    from jaxtyping import Num
    from torch import Tensor

    from inweights.models.base import Model
    from inweights.models.configs.initial_scale import Init

#: Module and class of each architecture of the library, by the kind of its config.
ARCHITECTURES = {
    "gpt": "inweights.models.gpt:GPT",
    "emb-mlp": "inweights.models.emb_mlp:EmbMLP",
    "mamba": "inweights.models.mamba:Mamba",
    "tiny-nn": "inweights.models.tiny_nn:TinyNN",
    "node2vec": "inweights.models.node2vec:Node2Vec",
    "one-layer": "inweights.models.one_layer:OneLayer",
    "deep-linear": "inweights.models.deep_linear:DeepLinear",
}


def build_model(
    kind: str,
    config: Any,
    *,
    vocabulary: int,
    seeds: int | Sequence[int],
    inits: Sequence[Init] | None = None,
    candidates: Sequence[int] | None = None,
    embedding_std: float | None = None,
) -> Any:
    """Create the model of a built-in config, and draw the initial parameters of each replica.

    Args:
        kind: Name of the architecture, a key of ``ARCHITECTURES``.
        config: Settings of the architecture, a config of ``inweights.models.configs``.
        vocabulary: Number of tokens ``V``.
        seeds: Root seed of each replica; a number ``n`` means the seeds 0 to ``n - 1``.
        inits: Initial scale of each replica; by default, or if empty, ``config.init``
            for all.
        candidates: Ids of the tokens that the head covers; by default all tokens. An
            architecture whose head always covers all tokens ignores them.
        embedding_std: Initial standard deviation of the token embeddings, above 0; by
            default the config's ``embedding_std``. If the config has no such setting,
            the embeddings have the initial scale of their replica.

    Returns:
        The model, with one replica per seed.

    Raises:
        ConfigError: The architecture is unknown, there are no seeds, a seed is not an
            integer from 0 to ``2**63 - 1``, the numbers of initial scales and of seeds
            differ, the number of tokens is below 1, a candidate is not a token or
            occurs twice, or the config's width is too small for the number of tokens.
    """
    from inweights.models.layers import initialise

    architecture = _architecture(kind)
    root_seeds = as_seeds(seeds)
    scales = inits or [config.init] * len(root_seeds)
    arguments: dict[str, Any] = {"vocabulary": vocabulary, "replicas": len(root_seeds)}
    # Architectures without this parameter have a head over all tokens.
    if "candidates" in signature(architecture).parameters:
        arguments["candidates"] = candidates
    model = architecture(config, **arguments)
    initialise(model, root_seeds, scales)
    token_std = embedding_std or getattr(config, "embedding_std", None)
    _rescale(model, "tokens", token_std, scales)
    _rescale(model, "positions", getattr(config, "position_std", None), scales)
    return model


def _architecture(kind: str) -> Any:
    """Import and return the class of an architecture."""
    check_names("architecture", [kind], ARCHITECTURES)
    module, _, name = ARCHITECTURES[kind].partition(":")
    return getattr(import_module(module), name)


def _rescale(model: Any, name: str, std: float | None, scales: Sequence[Init]) -> None:
    """Change the initial standard deviation of an embedding table of the model, if one is given."""
    import torch

    from inweights.models.layers import Embedding

    table = getattr(model, name, None)
    if std is None or not isinstance(table, Embedding):
        return
    factors = [std / init.sigma(table.weight.shape[2]) for init in scales]
    with torch.no_grad():
        table.weight.mul_(torch.tensor(factors).view(-1, 1, 1))


def join_replicas(models: Sequence[Model]) -> Model:
    """Return one model with copies of the replicas of several models, in the given order.

    The result has the config of the first model, and is on its device.

    Args:
        models: One or more models. They may differ only in their numbers of replicas
            and in the values of their parameters.

    Returns:
        A new model. Its number of replicas is the total number of replicas of the
        given models.

    Raises:
        ConfigError: There is no model, the models differ in architecture, size,
            vocabulary or precision, or they have no attribute ``config``.

    Example:
        >>> from inweights.models import EmbMLPConfig
        >>> pair = [EmbMLPConfig(width=4).build(vocabulary=5, seeds=[seed]) for seed in (0, 1)]
        >>> join_replicas(pair).replicas
        2
    """
    import torch

    if not len(models):
        raise ConfigError("expected at least one model to join, got none")
    first = models[0]
    if any(_form(model) != _form(first) for model in models):
        raise ConfigError(
            "models to be joined must have the same kind, size, vocabulary and precision"
        )
    if getattr(first, "config", None) is None:
        raise ConfigError(
            f"{type(first).__name__} cannot be joined with other models, as it has no config"
        )
    states = [model.state_dict() for model in models]
    whole = {}
    for name in states[0]:
        whole[name] = torch.cat([state[name] for state in states])
    return rebuilt(first, whole, sum(model.replicas for model in models))


def rebuilt(
    model: Model, state: Mapping[str, Num[Tensor, " ..."]], replicas: int
) -> Model:
    """Return a new model with the config of a given model, and with the given tensors.

    Args:
        model: A model with an attribute ``config``; it is not changed.
        state: The new model's ``state_dict``.
        replicas: Number of replicas of the new model.

    Returns:
        The new model, with the same vocabulary and candidates, on the same device.

    Raises:
        ConfigError: The config cannot build the model, for example because ``replicas``
            is 0.
        RuntimeError: The names or shapes of the tensors do not match the new model.
    """
    config: Any = model.config
    made: Model = config.build(
        vocabulary=model.vocabulary,
        # The seeds have no effect, because `fill` overwrites all values below.
        seeds=[0] * replicas,
        candidates=model.candidates.tolist(),
    )
    made = made.to(model.candidates.device)
    fill(made, state)
    return made


def fill(model: Model, state: Mapping[str, Num[Tensor, " ..."]]) -> None:
    """Copy a ``state_dict`` into a model, and convert the model to its precision.

    Args:
        model: The model, changed in place.
        state: Tensors, keyed by name. If all floating-point tensors have the same
            precision, the model is converted to it. Otherwise each tensor of the model
            keeps the precision in which the config builds it.

    Raises:
        RuntimeError: The names or shapes of the tensors do not match the model.
    """
    kinds = {value.dtype for value in state.values() if value.is_floating_point()}
    if len(kinds) == 1:
        model.to(kinds.pop())
    model.load_state_dict(state)


def _form(model: Model) -> tuple[Any, ...]:
    """Return the properties that joined models share: class, tokens, tensor shapes and dtypes."""
    state = model.state_dict()
    tensors = {name: (value.shape[1:], value.dtype) for name, value in state.items()}
    return type(model), model.vocabulary, model.candidates.tolist(), tensors
