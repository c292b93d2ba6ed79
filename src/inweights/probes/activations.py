"""Hidden states with the names of prompts and positions, as a table or as a file.

:func:`activations` returns a table, and :func:`write_activations` writes a safetensors
file, for example for dictionary learning in another program. Shapes: ``R`` replicas,
``N`` positions of all prompts, ``D`` width.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import torch
from safetensors.torch import save
from torch import Tensor

from inweights.errors import DataError, RunError
from inweights.models.base import Model
from inweights.probes.interventions.changes import places
from inweights.probes.needs import holds
from inweights.probes.recall import chosen_parts
from inweights.support.publish import publish_file
from inweights.training.batches.worlds import Part, as_worlds, shape_groups
from inweights.worlds.arrays import Float
from inweights.worlds.world import Worlds

#: Columns that identify a row of the table, or of the file.
_ABOUT = ("part", "role", "prompt", "position", "token")


@holds(kept=40)
def activations(
    model: Model,
    worlds: Worlds,
    *,
    layers: Sequence[str] | None = None,
    position: int | str | Sequence[str] | None = None,
    parts: Sequence[Part] = ("facts", "queries"),
) -> pl.DataFrame:
    """Return hidden states as a table, together with their prompts and positions.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        layers: Names of layers, among ``model.layer_names``; by default all.
        position: Index of a position (negative indices count from the end), or one or
            several names of tokens, which select every position whose token has one of
            these names. Prompts without such a position are left out. If worlds differ,
            positions are looked up in the first world. By default all positions are
            used.
        parts: ``facts``, ``queries`` or both.

    Returns:
        One row per replica, layer, prompt and position, with the columns ``replica``,
        ``layer``, ``part`` (``facts`` or ``queries``), ``role``, ``prompt`` (names of
        its tokens), ``position`` (counted from 0), ``token`` (name of the token there)
        and ``state`` (a list of ``D`` single-precision numbers; ``D`` is the width of
        the layer).

    Raises:
        ConfigError: A layer or a part is unknown, the model has no replica axis or
            cannot read prompts of this length, or the probe would need more memory than
            is available.
        DataError: A name in ``position`` is not a token of the world, no prompt has the
            position, the chosen parts contain no statements, or the worlds do not fit
            the model.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=3).build()
        >>> model = iw.EmbMLPConfig(width=4).build(vocabulary=len(world.vocabulary), seeds=1)
        >>> table = activations(model, world, layers=["sum"], position="r1")
        >>> table.select("prompt", "position", pl.col("state").list.len()).row(0)
        ('a1 r1', 1, 4)
    """
    tables = []
    for block in _blocks(model, worlds, layers, position, parts):
        for layer, states in block.states.items():
            for replica, state in enumerate(states):
                about = block.about[replica % len(block.about)]
                rows = pl.DataFrame(about, schema=list(_ABOUT), orient="row")
                made = pl.Series(
                    "state", state.cpu().tolist(), dtype=pl.List(pl.Float32)
                )
                named = rows.select(
                    pl.lit(replica).alias("replica"),
                    pl.lit(layer).alias("layer"),
                    pl.all(),
                )
                tables.append(named.with_columns(made))
    return pl.concat(tables)


def write_activations(
    model: Model,
    world: Worlds,
    path: str | Path,
    *,
    layers: Sequence[str] | None = None,
    position: int | str | Sequence[str] | None = None,
    parts: Sequence[Part] = ("facts", "queries"),
) -> Path:
    """Write hidden states to a safetensors file, together with their prompts and positions.

    The file contains a tensor ``[R, N, D]`` for each layer, under the layer's name
    (``N`` positions, counted over all prompts; width ``D``). Its metadata contains,
    under ``rows``, a JSON list of ``N`` objects with the keys ``part`` (``facts`` or
    ``queries``), ``role``, ``prompt`` (names of its tokens), ``position`` (counted from
    0) and ``token`` (name of the token there). If replicas have different worlds,
    ``rows`` is instead a list of ``R`` such lists.

    Args:
        model: Model with ``R`` replicas.
        world: One world, or one for each replica.
        path: The file, usually ``NAME.safetensors``. An existing file is replaced, and
            missing folders are created.
        layers: Names of layers, among ``model.layer_names``; by default all.
        position: Index of a position (negative indices count from the end), or one or
            several names of tokens, which select every position whose token has one of
            these names. Prompts without such a position are left out. By default all
            positions are used.
        parts: ``facts``, ``queries`` or both.

    Returns:
        The path of the file.

    Raises:
        ConfigError: A layer or a part is unknown, or the model has no replica axis or
            cannot read prompts of this length.
        DataError: A name in ``position`` is not a token of the world, no prompt has the
            position, the chosen parts contain no statements, or the worlds do not fit
            the model.
        RunError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> import inweights as iw
        >>> from safetensors.torch import load_file
        >>> world = iw.TwoHop(n=3).build()
        >>> model = iw.EmbMLPConfig(width=4).build(vocabulary=len(world.vocabulary), seeds=2)
        >>> path = Path(tempfile.mkdtemp()) / "states.safetensors"
        >>> _ = write_activations(model, world, path, layers=["sum"], position=-1)
        >>> {name: tuple(states.shape) for name, states in load_file(path).items()}
        {'sum': (2, 12, 4)}
    """
    found: dict[str, list[Tensor]] = {}
    rows: list[list[dict[str, object]]] = []
    for block in _blocks(model, world, layers, position, parts):
        for layer, states in block.states.items():
            found.setdefault(layer, []).append(states)
        rows = rows or [[] for _ in block.about]
        for own, about in zip(rows, block.about, strict=True):
            own += [dict(zip(_ABOUT, row, strict=True)) for row in about]
    tensors = {
        name: torch.cat(some, 1).cpu().contiguous() for name, some in found.items()
    }
    names = json.dumps(rows[0] if len(rows) == 1 else rows)
    try:
        publish_file(Path(path), save(tensors, {"rows": names}))
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror or error}") from None
    return Path(path)


@dataclass(frozen=True)
class _Block:
    """States of prompts of one role and length, with the names of each row in each world."""

    states: dict[str, Float[Tensor, "R n D"]]
    about: list[list[tuple[Any, ...]]]


@torch.no_grad()
def _blocks(
    model: Model,
    worlds: Worlds,
    layers: Sequence[str] | None,
    position: int | str | Sequence[str] | None,
    parts: Sequence[Part],
) -> Iterator[_Block]:
    """Yield, for each role and prompt length, the states at the requested positions."""
    each = as_worlds(worlds, model)
    some = False
    for part in chosen_parts(each[0], parts):
        statements = getattr(each[0], part)
        for role in statements.role_names:
            for group in shape_groups(each, part, statements.with_role(role)):
                tokens = group.prompts.to(model.column.device)
                where = places(position, each, tokens)
                own = where.reshape(-1, *where.shape[-2:])
                if not own[0].any():
                    continue
                some = True
                prompts = group.prompts.reshape(len(each), *group.prompts.shape[-2:])
                about: list[list[tuple[Any, ...]]] = []
                for world, matrix in zip(each, prompts.tolist(), strict=True):
                    names = world.vocabulary
                    about.append(
                        [
                            (
                                part,
                                role,
                                names.text(matrix[b]),
                                t,
                                names.names[matrix[b][t]],
                            )
                            for b, t in own[0].nonzero().tolist()
                        ]
                    )
                states = model.hidden(tokens, layers=layers, at="all")
                yield _Block(
                    {name: state[:, own[0]] for name, state in states.items()}, about
                )
    if not some:
        raise DataError(
            f"no prompt among the {' and '.join(parts)} has a position {position!r}"
        )
