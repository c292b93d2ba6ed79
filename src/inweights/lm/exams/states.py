"""Read the hidden states of a pretrained model by layer, and compare them.

:func:`hidden_states` reads the states of texts, and :func:`named_states` the states of
names (for the probes of :mod:`inweights.probes.geometry`). :func:`resemblance_by_layer`
compares the states of pairs of texts.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl
import torch

from inweights.errors import ConfigError, DataError
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.score import Floats
from inweights.probes.geometry.embedding import Embedding

#: Text in which a name is read. At the first position of a sequence, most models have
#: nearly the same state for every token.
NAMED = "This is {name}"


def hidden_states(lm: LanguageModel, texts: Sequence[str]) -> Floats:
    """Return the hidden states at the last token of each text, for all layers.

    Args:
        lm: The model.
        texts: ``N`` texts; there must be at least one.

    Returns:
        An array ``[N, L + 1, D]`` in double precision, for ``L`` layers of width ``D``;
        layer 0 contains the token embeddings.

    Raises:
        DataError: A text has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> hidden_states(load_model("@tiny"), ["Rome", "Oslo", "Pisa is"]).shape
        (3, 3, 32)
    """
    encoded = [lm.tokens(text, start=True) for text in texts]
    by_length: defaultdict[int, list[int]] = defaultdict(list)
    for i, ids in enumerate(encoded):
        if not ids:
            raise DataError(f"text {i + 1} ('{texts[i]}') has no tokens")
        by_length[len(ids)].append(i)
    states_of: dict[int, Floats] = {}
    with torch.inference_mode():
        for group in by_length.values():
            for at in range(0, len(group), 32):
                block = group[at : at + 32]
                table = torch.tensor([encoded[i] for i in block], device=lm.device)
                # The head is not called, since logits are not needed.
                out = lm.model.base_model(
                    input_ids=table, output_hidden_states=True, use_cache=False
                )
                states = torch.stack([h[:, -1] for h in out.hidden_states], 1).double()
                states_of |= dict(zip(block, states.cpu().numpy(), strict=True))
    return np.stack([states_of[i] for i in range(len(texts))])


def named_states(
    lm: LanguageModel, names: Sequence[str], prompt: str = NAMED
) -> Embedding:
    """Return the hidden states at the last token of each name, for all layers.

    Args:
        lm: The model.
        names: ``N`` names, written as they may occur in the model's training data.
        prompt: Template of the text in which a name is read, which must end in
            ``{name}``; by default :data:`NAMED`, ``This is {name}``.

    Returns:
        An embedding ``[L + 1, N, D]`` with the names, for ``L`` layers of width ``D``;
        layer 0 contains the token embeddings.

    Raises:
        ConfigError: The prompt does not end in ``{name}``, or contains it more than
            once.
        DataError: No names are given, or a name has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> named_states(load_model("@tiny"), ["Peru", "Chile"]).vectors.shape
        (3, 2, 32)
    """
    if not prompt.endswith("{name}") or prompt.count("{name}") != 1:
        raise ConfigError(
            "a prompt must contain {name} only once, at its end, since the state is read at the "
            f"last token of the name; expected a prompt such as '{NAMED}', got '{prompt}'"
        )
    if not names:
        raise DataError("no name was given")
    texts = [prompt.replace("{name}", name) for name in names]
    states = hidden_states(lm, texts)  # [N, L + 1, D]
    return Embedding(tuple(names), states.swapaxes(0, 1), lm.name)


def resemblance_by_layer(
    lm: LanguageModel, one: Sequence[str], other: Sequence[str]
) -> pl.DataFrame:
    """Compare the states of paired and unpaired texts by cosine similarity, for each layer.

    This is equation (10) of Feature Resemblance, applied to the hidden states at the
    last token of each text (:func:`hidden_states`). The states of a pretrained model
    lie in a narrow cone, so the cosine similarity of paired texts is meaningful only in
    comparison with the cosine similarity of unpaired texts.

    Args:
        lm: The model.
        one: ``N`` texts, at least 2.
        other: ``N`` texts; ``other[i]`` is paired with ``one[i]``.

    Returns:
        One row per layer: ``layer``, from 0 (the token embedding); ``cosine``, the mean
        cosine similarity of the states of ``one[i]`` and ``other[i]``; ``other``, the
        mean cosine similarity of ``one[i]`` and ``other[j]`` over all pairs with
        ``other[j] != other[i]``; and ``contrast``, which is ``cosine`` minus ``other``.

    Raises:
        DataError: The lists differ in length, all texts of ``other`` are the same, or a
            text has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> pairs = ["Rome is", "Oslo is"], ["Italy", "Norway"]
        >>> resemblance_by_layer(load_model("@tiny"), *pairs)["layer"].to_list()
        [0, 1, 2]
    """
    if len(one) != len(other):
        raise DataError(f"expected {len(one)} paired texts, got {len(other)}")
    texts = np.array(other, dtype=object)
    different = texts[:, None] != texts
    if not different.any():
        raise DataError(
            "all pairs have the same second text; expected at least two different second "
            "texts"
        )
    first = hidden_states(lm, one)
    second = hidden_states(lm, other)
    rows = []
    for layer in range(first.shape[1]):
        a, b = (
            x[:, layer] / np.linalg.norm(x[:, layer], axis=1)[:, None]
            for x in (first, second)
        )
        cosines = a @ b.T
        own = float(np.diag(cosines).mean())
        rest = float(cosines[different].mean())
        rows.append(
            {"layer": layer, "cosine": own, "other": rest, "contrast": own - rest}
        )
    return pl.DataFrame(rows)
