"""Store a world as a folder of Parquet and JSON that can be loaded as a Hugging Face data set.

:func:`save_world` writes the folder, and :func:`load_world` reads it.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl

from inweights.config.values import decode, encode
from inweights.errors import DataError
from inweights.support.limits import read_text
from inweights.worlds.families.storage.data_cards import write_cards
from inweights.worlds.families.storage.world_card import described_world
from inweights.worlds.readers.new_folder import new_folder, reason
from inweights.worlds.readers.tables.parquet import read_parquet
from inweights.worlds.world import Statements, Vocabulary, World

__all__ = ["load_world", "save_world"]

#: Versions of the format: worlds with several correct answers to a query have version 2,
#: all others version 1.
_FORMATS = (1, 2)
_FILES = ("world.json", "facts.parquet", "queries.parquet")
_DAMAGE = (
    msgspec.DecodeError,
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    RecursionError,
    pl.exceptions.PolarsError,
)
#: Omitted if there are no queries, since Hugging Face cannot read a split without rows.
_QUERIES_SPLIT = "  - split: queries\n    path: queries.parquet\n"
_CARD = Path(__file__).with_name("storage.md").read_text(encoding="utf-8")


def save_world(world: World, folder: str | Path, *, card: bool = False) -> Path:
    """Write a world to a new folder, completely or not at all.

    The folder contains ``facts.parquet`` and ``queries.parquet`` (one row per
    statement, with token ids and the names of tokens), ``world.json`` (vocabulary,
    settings and seed) and ``README.md``. ``datasets.load_dataset(folder)`` can also
    load the folder, with the splits ``facts`` and, if there are queries, ``queries``.

    Args:
        world: The world.
        folder: Path of a folder that does not exist; missing parent folders are
            created.
        card: Whether to describe the world for publication: with a full ``README.md``
            for Hugging Face, and ``croissant.json`` with the hash of each file.

    Returns:
        The path of the folder.

    Raises:
        DataError: The folder already exists, or cannot be written.
        ConfigError: A setting of the world has no exact representation as JSON.
    """
    with new_folder(folder) as work:
        _frame(world.facts, world.vocabulary).write_parquet(work / "facts.parquet")
        _frame(world.queries, world.vocabulary).write_parquet(work / "queries.parquet")
        about = {
            "format": _FORMATS[bool(len(world.queries.further))],
            "name": world.name,
            "seed": world.seed,
            "settings": encode(dict(world.settings)),
            "why_out_of_distribution": world.why_out_of_distribution,
            "fact_roles": world.facts.role_names,
            "query_roles": world.queries.role_names,
            "vocabulary": world.vocabulary.groups,
        }
        (work / "world.json").write_bytes(
            msgspec.json.format(msgspec.json.encode(about))
        )
        short = _CARD.format(
            name=world.name,
            facts=len(world.facts),
            queries=len(world.queries),
            queries_split=_QUERIES_SPLIT if len(world.queries) else "",
        )
        (work / "README.md").write_text(short, encoding="utf-8")
        if card:
            write_cards(work, described_world(world))
    return Path(folder)


def load_world(folder: str | Path) -> World:
    """Read a world that :func:`save_world` wrote.

    Args:
        folder: Path of the folder.

    Returns:
        The world, with its settings and seed. Its attribute ``asks`` is empty, since
        the folder does not store it.

    Raises:
        DataError: The folder contains no world, a file is missing, damaged or
            unreadable, or the folder was written in the format of a later version.
    """
    source = Path(folder)
    for name in _FILES:
        if not (source / name).is_file():
            raise DataError(f"{source} is not a world: the file {name} is missing")
    try:
        return _load(source)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot read the world {source}: {reason(error)}") from None
    except _DAMAGE as error:
        raise DataError(f"{source} is damaged: {error}") from None


class _About(msgspec.Struct):
    """Contents of ``world.json``."""

    name: str
    seed: int
    settings: dict[str, Any]
    why_out_of_distribution: str
    fact_roles: tuple[str, ...]
    query_roles: tuple[str, ...]
    vocabulary: dict[str, list[str]]


def _load(source: Path) -> World:
    """Read a world from a folder whose files all exist."""
    written = msgspec.json.decode(read_text(source / "world.json"))
    if written["format"] not in _FORMATS:
        raise DataError(
            f"{source} has format {written['format']}; this version reads format "
            f"{' or '.join(map(str, _FORMATS))}"
        )
    about = msgspec.convert(written, _About)
    facts = read_parquet(source / "facts.parquet", _columns)
    return World(
        name=about.name,
        vocabulary=Vocabulary(about.vocabulary),
        facts=_statements(facts, about.fact_roles),
        queries=_statements(
            read_parquet(source / "queries.parquet", _columns), about.query_roles
        ),
        settings=decode(about.settings),
        seed=about.seed,
        why_out_of_distribution=about.why_out_of_distribution,
    )


def _columns(there: Sequence[str]) -> Sequence[str]:
    """Return the columns that are read; those with names of tokens are only for human readers."""
    return [name for name in there if not name.endswith("_text")]


def _frame(part: Statements, vocabulary: Vocabulary) -> pl.DataFrame:
    """Return statements as a table, with both the ids and the names of their tokens."""
    rows = range(len(part))
    ids = pl.List(pl.Int64)
    prompts = [part.prompt(i).tolist() for i in rows]
    answers = [part.answer(i).tolist() for i in rows]
    further: dict[str, pl.Series] = {}
    if len(part.further):
        found: list[list[int]] = [[] for _ in rows]
        for row, token in part.further.tolist():
            found[row].append(token)
        names = vocabulary.names
        texts = [list(map(names.__getitem__, tokens)) for tokens in found]
        further = {
            "further_answers": pl.Series(found, dtype=ids),
            "further_answers_text": pl.Series(texts, dtype=pl.List(pl.String)),
        }
    return pl.DataFrame(
        {
            "role": pl.Series(
                [part.role_names[r] for r in part.roles], dtype=pl.String
            ),
            "prompt": pl.Series(prompts, dtype=ids),
            "answer": pl.Series(answers, dtype=ids),
            "prompt_text": pl.Series(
                list(map(vocabulary.text, prompts)), dtype=pl.String
            ),
            "answer_text": pl.Series(
                list(map(vocabulary.text, answers)), dtype=pl.String
            ),
            "out_of_distribution": part.out_of_distribution,
            **further,
        }
    )


def _statements(frame: pl.DataFrame, role_names: tuple[str, ...]) -> Statements:
    """Construct statements from a table."""

    def flat(column: str) -> tuple[np.ndarray, np.ndarray]:
        ends = np.cumsum(
            frame[column].list.len().to_numpy().astype(np.int64), dtype=np.int64
        )
        return frame[column].explode().drop_nulls().to_numpy().astype(np.int64), ends

    code = {name: i for i, name in enumerate(role_names)}
    roles = np.array([code[role] for role in frame["role"]], dtype=np.int16)
    ood = frame["out_of_distribution"].to_numpy().astype(bool)
    made = Statements(*flat("prompt"), *flat("answer"), roles, role_names, ood)
    if "further_answers" not in frame.columns:
        return made
    tokens, ends = flat("further_answers")
    owners = np.repeat(np.arange(len(made)), np.diff(ends, prepend=0))
    return replace(made, further=np.stack([owners, tokens], axis=1))
