"""Score names of several token ids by the sum of the log-probabilities of their ids.

:class:`Trained` uses this score if ``answers="sum"`` is set. Shapes: ``R`` replicas,
``n`` prompts, ``V`` names, ``K`` token ids of the module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from inweights.worlds.arrays import Float, Int

#: Token ids of one prompt, or of one name.
Ids = tuple[int, ...]
#: Maximum number of prompts that the module reads at once.
_AT_ONCE = 1024


def summed_scores(
    logits_of: Callable[[Int[Tensor, "n T"]], Float[Tensor, "R n K"]],
    prompts: Sequence[Ids],
    names: Sequence[Ids],
) -> Float[Tensor, "R n V"]:
    """Return the log-probability that each name follows each prompt, ``[R, n, V]``.

    The score of a name with the ids ``a b`` is ``log p(a | prompt) + log p(b | prompt
    a)``. If several names begin with the same ids, these are evaluated only once.

    Args:
        logits_of: Function that maps the ids ``[n, T]`` of ``n`` prompts of one length
            to the module's logits ``[R, n, K]`` after the last id of each prompt.
        prompts: Ids of each of the ``n`` prompts, which may differ in length. There is
            at least one prompt, and each has at least one id.
        names: Ids of each of the ``V`` names. There is at least one name, and each has
            at least one id.

    Example:
        >>> def bigram(ids):  # after id i comes i + 1, with probability near 1
        ...     return 50.0 * torch.nn.functional.one_hot(ids[None, :, -1] + 1, 6).float()
        >>> scores = summed_scores(bigram, [(0, 1)], [(2,), (2, 3), (2, 4)])
        >>> [round(score, 3) for score in scores[0, 0].tolist()]
        [0.0, 0.0, -50.0]
    """
    after: dict[Ids, list[tuple[int, int]]] = defaultdict(list)
    for place, ids in enumerate(names):
        for number, piece in enumerate(ids):
            after[ids[:number]].append((place, piece))
    total: Tensor | None = None
    for stem, read in after.items():
        logs = _last_logs(logits_of, [(*prompt, *stem) for prompt in prompts])
        if total is None:
            total = logs.new_zeros(*logs.shape[:2], len(names))
        places = torch.tensor([place for place, _ in read], device=logs.device)
        pieces = torch.tensor([piece for _, piece in read], device=logs.device)
        total = total.index_add(2, places, logs.index_select(2, pieces))
    assert total is not None, "there are names, and each has an id"
    return total


def _last_logs(
    logits_of: Callable[[Tensor], Tensor], rows: Sequence[Ids]
) -> Float[Tensor, "R n K"]:
    """Return the log-probabilities after the last id of each sequence, in their order."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_length[len(row)].append(place)
    order: list[int] = []
    found: list[Tensor] = []
    for places in by_length.values():
        order += places
        ids = torch.tensor([rows[place] for place in places])
        found += [logits_of(some).log_softmax(-1) for some in ids.split(_AT_ONCE)]
    back = torch.tensor(order).argsort().to(found[0].device)
    return torch.cat(found, 1).index_select(1, back)
