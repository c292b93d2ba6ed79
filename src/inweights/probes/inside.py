"""Look inside a model: the logit lens, attention patterns, and similarity of two sets of states.

Main names: :func:`logit_lens`, :func:`attention`, :func:`cka`. The first two evaluate a
model on its world; :func:`cka` compares states, for example of two models. Shapes:
``R`` replicas, ``n`` prompts, ``m`` statements, ``D`` and ``E`` widths, ``K``
candidates, ``H`` heads, ``T`` positions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import Tensor

from inweights.config import check_size
from inweights.errors import DataError
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.probes.needs import holds
from inweights.probes.recall import chosen_parts, slices
from inweights.probes.states import by_replica, share
from inweights.training.batches.worlds import Part, as_worlds, shape_groups
from inweights.training.scoring import MAX_LOGITS, RightPlaces, are_right, right_places
from inweights.worlds.arrays import Float, Int
from inweights.worlds.world import Worlds


@holds(most=2000, logits=5, kept=48)
def logit_lens(
    model: Model,
    worlds: Worlds,
    *,
    parts: Sequence[Part] = ("facts", "queries"),
    layers: Sequence[str] | None = None,
    most: int = 2000,
) -> pl.DataFrame:
    """Decode the answer from the state of each layer, and measure its accuracy (the logit lens).

    The state at the last position is passed to the final norm and the output matrix, as
    if later layers did not exist (nostalgebraist 2020). For the deepest layer, the
    decoded logits are the logits of the model itself.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        parts: ``facts``, ``queries`` or both.
        layers: Names of layers, among ``model.decodable``; by default all of these.
        most: Maximum number of statements to read from each slice (part, role and
            distribution), at least 1; the first ones are used.

    Returns:
        One row per replica, slice and layer, with the columns ``replica``, ``part``,
        ``role`` and ``distribution`` (``trained`` for facts, ``in`` or ``out`` of
        distribution for queries; see :func:`~inweights.probes.accuracy`), ``layer``,
        ``depth`` (index of the layer in ``model.layer_names``), ``accuracy`` (share of
        statements for which the first answer token has the largest logit of all
        candidates), ``probability`` (mean probability of the correct answer), ``rank``
        (mean number of candidates with a larger logit) and ``statements`` (number of
        statements read). If a prompt has several correct answers, any of them counts as
        correct: ``probability`` is the sum of their probabilities, and ``rank`` counts
        the wrong candidates whose logits are larger than the largest logit of a correct
        answer.

    Raises:
        ConfigError: A layer or a part is unknown, ``most`` is below 1, a layer cannot
            be decoded, the model has no replica axis or cannot read prompts of this
            length, or the probe would need more memory than is available.
        DataError: The chosen parts contain no statements, an answer is not among the
            head's candidates, or the worlds do not fit the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> model = iw.GPTConfig(layers=1).build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> logit_lens(model, world, parts=["queries"])["layer"].to_list()
        ['embedding', 'block.0', 'final']
    """
    check_size("most", most, most=np.inf)
    each = as_worlds(worlds, model)
    device = model.column.device
    rows: list[dict[str, object]] = []
    chosen = chosen_parts(each[0], parts)
    layers = model.decodable if layers is None else layers
    for part, role, distribution, indices in slices(each[0]):
        if part not in chosen:
            continue
        groups = shape_groups(each, part, indices[:most])
        known = right_places(
            model, each, part, np.concatenate([one.indices for one in groups])
        )
        answers = torch.cat([group.answers[..., 0] for group in groups], dim=-1)
        columns = model.columns(answers).expand(model.replicas, -1).unsqueeze(-1)
        states = model.hidden(
            pack([group.prompts.to(device) for group in groups]), layers=layers
        )
        for layer, state in states.items():
            rows += by_replica(
                model.replicas,
                part=part,
                role=role,
                distribution=distribution,
                layer=layer,
                depth=model.layer_names.index(layer),
                **_decode(model, layer, state, columns, known),
                statements=columns.shape[1],
            )
    return pl.DataFrame(rows)


def _decode(
    model: Model,
    layer: str,
    state: Float[Tensor, "R m D"],
    columns: Int[Tensor, "R m 1"],
    known: RightPlaces | None,
) -> dict[str, Float[Tensor, " R"]]:
    """Return the columns of :func:`logit_lens` for one layer; logits are computed in blocks."""
    hits: list[Tensor] = []
    parts: dict[str, list[Tensor]] = {"probability": [], "rank": []}
    step = max(1, MAX_LOGITS // len(model.candidates))
    start = 0
    for some, right in zip(
        state.split(step, dim=1), columns.split(step, dim=1), strict=True
    ):
        logits = model.decode(layer, some)
        rows = torch.arange(start, start + some.shape[1], device=some.device)
        start += some.shape[1]
        # Only queries with several correct answers need a mask. Otherwise, the logit of
        # the single correct answer is gathered.
        accepted = known.among(rows, logits) if known else None
        hits.append(are_right(logits.argmax(-1), right, accepted))
        chances = logits.log_softmax(-1)
        if accepted is None:
            own = logits.gather(-1, right)
            parts["rank"].append((logits > own).sum(-1).float())
            parts["probability"].append(chances.gather(-1, right).exp().squeeze(-1))
        else:
            own = logits.masked_fill(~accepted, -torch.inf).amax(-1, keepdim=True)
            # Only wrong answers count for the rank, since another correct answer with a
            # larger logit is not a mistake.
            parts["rank"].append(((logits > own) & ~accepted).sum(-1).float())
            parts["probability"].append(
                chances.exp().masked_fill(~accepted, 0.0).sum(-1)
            )
    means = {name: torch.cat(values, 1).mean(1) for name, values in parts.items()}
    return {"accuracy": share(torch.cat(hits, 1)), **means}


@holds(most=2000, states=54)
def attention(
    model: Model,
    worlds: Worlds,
    *,
    parts: Sequence[Part] = ("facts", "queries"),
    most: int = 2000,
) -> pl.DataFrame:
    """Compute the mean attention weights of every head over the prompts of each role and length.

    Args:
        model: Model with ``R`` replicas, of an architecture with attention.
        worlds: One world, or one for each replica.
        parts: ``facts``, ``queries`` or both.
        most: Maximum number of statements to read for each role and length, at least 1;
            the first ones are used.

    Returns:
        One row per replica, part, role, length of prompt, layer, head and pair of
        positions, with the columns ``replica``, ``part``, ``role``, ``length``,
        ``layer``, ``head``, ``position`` (index, from 0, of the position that attends),
        ``attended`` (index of the position to which it attends) and ``weight`` (mean
        attention, from 0 to 1). Later positions, which a position cannot attend to,
        have no rows.

    Raises:
        ConfigError: The architecture has no attention that the library can read, a part
            is unknown, ``most`` is below 1, the model has no replica axis or cannot
            read prompts of this length, or the probe would need more memory than is
            available.
        DataError: The chosen parts contain no statements, or the worlds do not fit the
            model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=4).build()
        >>> config = iw.GPTConfig(layers=1, heads=1, attention="uniform")
        >>> model = config.build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> table = attention(model, world, parts=["queries"]).filter(position=2)
        >>> table.select("attended", "weight").rows()[0]
        (0, 0.3333333432674408)
    """
    check_size("most", most, most=np.inf)
    each = as_worlds(worlds, model)
    tables = []
    for part in chosen_parts(each[0], parts):
        statements = getattr(each[0], part)
        for role in statements.role_names:
            for group in shape_groups(each, part, statements.with_role(role)):
                prompts = group.prompts[..., :most, :].to(model.column.device)
                for layer, patterns in model.attention_patterns(prompts).items():
                    weights = patterns.mean(1).cpu().numpy()  # [R, H, T, T]
                    table = _attention_table(weights)
                    constants = {
                        "part": part,
                        "role": role,
                        "length": weights.shape[-1],
                        "layer": layer,
                    }
                    columns = [
                        pl.lit(value).alias(name) for name, value in constants.items()
                    ]
                    tables.append(
                        table.select("replica", *columns, pl.exclude("replica"))
                    )
    return pl.concat(tables)


def _attention_table(weights: NDArray[np.floating]) -> pl.DataFrame:
    """Return a row per replica, head and pair of positions, from weights ``[R, H, T, T]``.

    Positions after the one that attends are left out.
    """
    place = np.indices(weights.shape)
    # Positions that a causal model cannot attend to have no rows, since their weight is
    # always 0.
    seen = place[3] <= place[2]
    names = ("replica", "head", "position", "attended")
    axes = dict(zip(names, place[:, seen], strict=True))
    return pl.DataFrame({**axes, "weight": weights[seen].astype(np.float64)})


@torch.no_grad()
def cka(
    one: Float[Tensor, "R n D"], other: Float[Tensor, "R n E"]
) -> Float[Tensor, " R"]:
    """Compute the linear CKA (centred kernel alignment), a similarity of two sets of states.

    Rotating or scaling either set does not change the similarity, so that models that
    were trained separately can be compared (Kornblith et al. 2019, §3). If there are
    fewer prompts than dimensions, the similarity is high for any two sets.

    Args:
        one: States ``[R, n, D]`` of ``n`` prompts.
        other: States ``[R, n, E]`` of the same prompts in the same order, of any width
            ``E``.

    Returns:
        The similarity for each replica, ``[R]``, in double precision, from 0 to 1; NaN
        if all prompts of a set have the same state.

    Raises:
        DataError: The numbers of replicas or prompts differ, or an array does not have
            three axes.

    Example:
        >>> states = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(0))
        >>> turned = 3 * states.flip(-1)
        >>> cka(states, turned).round(decimals=3).tolist()
        [1.0, 1.0]
    """
    if one.shape[:-1] != other.shape[:-1] or one.dim() != 3:
        raise DataError(
            "states must have the shapes [R, n, D] and [R, n, E], for the same replicas and "
            "prompts, "
            f"got {list(one.shape)} and {list(other.shape)}"
        )
    x, y = (_centred(states.double()) for states in (one, other))
    # Products [D, D] are used rather than Gram matrices [n, n], which are larger if
    # there are many prompts.
    shared = torch.linalg.matrix_norm(y.mT @ x).square()
    return shared / (
        torch.linalg.matrix_norm(x.mT @ x) * torch.linalg.matrix_norm(y.mT @ y)
    )


def _centred(states: Tensor) -> Tensor:
    """Return states minus their mean; 0 if only rounding errors remain."""
    rest = states - states.mean(1, keepdim=True)
    return torch.where(rest.abs() > 1e-12 * states.abs().amax(), rest, 0.0)
