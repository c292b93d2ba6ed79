"""Logit templates: the logits of tokens, facts and queries as a table (Identity Bridge, Fig. 3).

:func:`templates` returns one row per logit; :func:`winners` selects the largest ones.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray

from inweights.errors import unknown_name
from inweights.models.base import Model
from inweights.models.packing import pack
from inweights.support.limits import check_memory
from inweights.training.batches.worlds import as_worlds
from inweights.training.scoring import MAX_LOGITS
from inweights.worlds.world import Ids, World, Worlds

#: Estimated memory per cell of the table (including its names) while it is computed, in
#: bytes.
_BYTES = 150
_GROUP_ORDER = ("first_relation", "second_relation", "subject", "bridge", "object")


@torch.no_grad()
def templates(model: Model, worlds: Worlds, *, rows: str = "tokens") -> pl.DataFrame:
    """Return the logits of every output for tokens or prompts, with one row per logit.

    The logits of an Emb-MLP are given by the matrix ``W = E W_proj``, which has one row
    per token: the logits for a token are its row, and the logits for a prompt are the
    sum of the rows of its tokens. For any other model, the table contains the logits
    that the model computes for each prompt.

    Args:
        model: Model with ``R`` replicas.
        worlds: One world, or one for each replica.
        rows: ``tokens`` (every token that occurs in a prompt, as a prompt by itself),
            or a role of the world's facts or queries, whose prompts are used.

    Returns:
        One row per replica, prompt and output token of the world, with the columns
        ``replica``, ``row`` (the prompt), ``row_group`` (group of its first token),
        ``column`` (the output token), ``column_group`` (its group), ``value`` (logit
        minus the mean logit of all outputs for the prompt), ``top`` (whether this logit
        is the largest for the prompt) and ``answer`` (whether the output is the answer
        of the statement, or the first correct answer if a query has several; always
        false for ``tokens``).

    Raises:
        ConfigError: ``rows`` is neither ``tokens`` nor a role of the world, the table
            would need more memory than is available, or the model has no replica axis
            or cannot read prompts of this length.
        DataError: The worlds do not fit the model, an output of the world is not among
            the head's candidates, or the prompts or answers of the role differ in
            length.

    Example:
        >>> import inweights as iw
        >>> world = iw.TwoHop(n=2).build()
        >>> model = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
        >>> templates(model, world).filter(top=True)["row"].to_list()
        ['r1', 'r2', 'a1', 'a2', 'b1', 'b2']
    """
    each = as_worlds(worlds, model)
    prompts, answers = zip(*(_prompts(world, rows) for world in each), strict=True)
    shown = torch.from_numpy(np.stack(prompts) if len(each) > 1 else prompts[0])
    cells = model.replicas * len(prompts[0]) * len(each[0].outputs)
    check_memory(
        f"a table of {cells:,} logits",
        _BYTES * cells,
        hint="ask for the rows of one role",
    )
    outputs = torch.from_numpy(np.stack([world.outputs for world in each]))
    columns = model.columns(outputs).expand(model.replicas, -1)
    step = max(1, MAX_LOGITS // len(model.candidates))
    tables: list[list[pl.DataFrame]] = [[] for _ in range(model.replicas)]
    for start in range(0, shown.shape[-2], step):
        batch = pack([shown[..., start : start + step, :].to(model.column.device)])
        logits = model(batch, at=batch.last)
        logits = logits.gather(-1, columns.unsqueeze(1).expand(-1, logits.shape[1], -1))
        values = (logits - logits.mean(-1, keepdim=True)).cpu().numpy()
        rows_of = slice(start, start + values.shape[1])
        for replica, (own, parts) in enumerate(zip(values, tables, strict=True)):
            k = replica % len(each)
            parts.append(
                _cells(each[k], replica, prompts[k][rows_of], answers[k][rows_of], own)
            )
    return pl.concat(chain.from_iterable(tables))


def _cells(
    world: World, replica: int, prompt: Ids, answer: Ids, values: NDArray[np.float32]
) -> pl.DataFrame:
    """Return a table of the logits ``values``, ``[rows, outputs]``, of one replica."""
    groups = _groups(world)
    height, width = values.shape
    rows_of = np.repeat(range(height), width)
    columns_of = np.tile(range(width), height)
    top = np.zeros((height, width), dtype=bool)
    top[np.arange(height), values.argmax(-1)] = True
    names = list(map(world.vocabulary.text, prompt))
    out_names = [world.vocabulary.names[i] for i in world.outputs]
    out_groups = pl.Series([groups[t] for t in world.outputs])
    return pl.DataFrame(
        {
            "replica": np.full(height * width, replica),
            "row": pl.Series(names).gather(rows_of),
            "row_group": pl.Series([groups[p[0]] for p in prompt]).gather(rows_of),
            "column": pl.Series(out_names).gather(columns_of),
            "column_group": out_groups.gather(columns_of),
            "value": values.ravel().astype(np.float64),
            "top": top.ravel(),
            "answer": (answer[:, None] == world.outputs[None]).ravel(),
        }
    )


def winners(table: pl.DataFrame, by: Sequence[str] = ()) -> pl.DataFrame:
    """Return the output with the largest logit for every prompt and group of outputs.

    Args:
        table: A table from :func:`templates`.
        by: Columns, such as ``replica`` or ``seed``, that together identify a table if
            ``table`` consists of several; by default it is one table.

    Returns:
        One row per table, prompt and group of outputs, with the columns named in
        ``by``, and ``row`` (the prompt), ``row_group`` (group of its first token),
        ``column_group`` (the group of outputs), ``column`` (the output with the largest
        logit) and ``value`` (its centred logit). Rows are in descending order of
        ``value``.
    """
    keys = [*by, "row", "row_group", "column_group"]
    best = table.sort("value", descending=True, maintain_order=True)
    return best.group_by(keys, maintain_order=True).agg(
        pl.col("column", "value").first()
    )


def _prompts(world: World, rows: str) -> tuple[Ids, Ids]:
    """Return prompts ``[m, T]`` and their answers ``[m]`` (-1 for a prompt without an answer)."""
    if rows == "tokens":
        groups = _groups(world)
        order = {group: i for i, group in enumerate(_GROUP_ORDER)}
        tokens = sorted(
            world.inputs.tolist(), key=lambda t: (order.get(groups[t], 99), t)
        )
        return np.array(tokens)[:, None], np.full(len(tokens), -1)
    for part in (world.facts, world.queries):
        if rows in part.role_names:
            prompts, answers = part.matrix(part.with_role(rows))
            return prompts, answers[:, 0]
    raise unknown_name(
        "rows", rows, ["tokens", *world.facts.role_names, *world.queries.role_names]
    )


def _groups(world: World) -> dict[int, str]:
    """Return the name of the group of every token, by its id."""
    groups: dict[int, str] = {}
    for group in world.vocabulary.groups:
        groups |= dict.fromkeys(world.vocabulary[group].tolist(), group)
    return groups
