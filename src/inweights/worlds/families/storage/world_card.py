"""Describe a stored world in a card: its facts, its queries and their columns.

:func:`inweights.worlds.save_world` and ``make cards`` use :func:`described_world`.
"""

from collections.abc import Sequence
from pathlib import Path

from inweights.config import load_toml, to_plain
from inweights.worlds.families.storage.data_cards import DataFile, DataSet
from inweights.worlds.world import World

_TEXT = load_toml(Path(__file__).with_suffix(".toml"))
#: Meaning of the columns of facts and queries.
COLUMNS: dict[str, str] = _TEXT["columns"]
TAGS: Sequence[str] = tuple(_TEXT["tags"])


def described_world(world: World) -> DataSet:
    """Return the description of a stored world, for its card.

    Args:
        world: The world.

    Returns:
        The description, which names the three files that :func:`world_files` lists. No
        file is read.

    Example:
        >>> import inweights as iw
        >>> described_world(iw.TwoHop(n=4).build()).title
        'A world of the kind two-hop: 12 facts, 4 queries'
    """
    counts = f"{len(world.facts):,} facts, {len(world.queries):,} queries"
    settings = []
    for name, value in sorted(dict(world.settings).items()):
        settings.append(f"`{name} = {to_plain(value)!r}`")
    body = _TEXT["body"].format(
        kind=world.name,
        seed=world.seed,
        roles=", ".join(f"`{role}`" for role in world.facts.role_names),
        asked=", ".join(f"`{role}`" for role in world.queries.role_names) or "none",
        settings=", ".join(settings) or "none",
        example=_example(world),
    )
    return DataSet(
        name=f"inweights-world-{world.name}",
        title=f"A world of the kind {world.name}: {counts}",
        says=_TEXT["says"],
        body=body,
        files=world_files("", "default"),
        columns=COLUMNS,
        tags=TAGS,
    )


def world_files(folder: str, part: str) -> list[DataFile]:
    """Return descriptions of the files of a stored world.

    Args:
        folder: Folder of the world within the data set, with ``/`` at the end; empty
            for the data set's own folder.
        part: Name of the Hugging Face configuration to which the tables belong.

    Returns:
        The descriptions of ``facts.parquet`` (split ``facts``), ``queries.parquet``
        (split ``queries``) and ``world.json``; no file is read.
    """
    says: dict[str, str] = _TEXT["files"]
    return [
        DataFile(f"{folder}facts.parquet", says["facts"], part, "facts"),
        DataFile(f"{folder}queries.parquet", says["queries"], part, "queries"),
        DataFile(f"{folder}world.json", says["world"]),
    ]


def _example(world: World) -> str:
    """Return the first fact of the world in words; ``none`` if there is none."""
    if not len(world.facts):
        return "none"
    words, fact = world.vocabulary, world.facts[0]
    return f"{words.text(fact.prompt)} → {words.text(fact.answer)}"
