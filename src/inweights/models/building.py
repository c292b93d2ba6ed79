"""Build a model from a config: import its architecture, make it, and draw its initial values.

:func:`build_model` implements the method ``build`` of every config in ``configs``. The
table ``ARCHITECTURES`` maps configs, which do not import modules, to the classes of
models. An architecture, and torch with it, is imported when the first model of it is
built.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from inweights.errors import check_names
from inweights.seeds import as_seeds

if TYPE_CHECKING:
    from inweights.models.configs.initial_scale import Init

#: Module and class of each architecture of the library, by the tag of its config.
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
    """Make the model of a built-in config, and draw the initial parameters of every replica.

    Args:
        kind: The architecture, a key of ``ARCHITECTURES``.
        config: Settings of the architecture, a config of ``inweights.models.configs``.
        vocabulary: Number of tokens ``V``.
        seeds: Root seed of each replica; a number ``n`` means the seeds 0 to ``n - 1``.
        inits: Initial scale of each replica; by default ``config.init`` for all.
        candidates: Ids of the tokens that the head covers. An architecture whose head
            covers all tokens ignores them.
        embedding_std: Standard deviation of the token embeddings; by default the
            config's ``embedding_std``, and if this is ``None``, a value computed from
            the initial scale.

    Returns:
        The model, with one replica per seed.

    Raises:
        ConfigError: The architecture is unknown, no seed is given, the number of
            initial scales differs from that of seeds, or the architecture does not
            support the number of tokens or candidates.
    """
    from inweights.models.layers import initialise

    architecture = _architecture(kind)
    root_seeds = as_seeds(seeds)
    scales = inits or [config.init] * len(root_seeds)
    arguments: dict[str, Any] = {"vocabulary": vocabulary, "replicas": len(root_seeds)}
    # Others have a head over all tokens, and would refuse the argument.
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
