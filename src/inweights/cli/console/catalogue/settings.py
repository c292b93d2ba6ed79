"""Print the settings of a recipe, each with its value at each scale and its meaning.

If there are many settings, they are summarised: each part has one line, and items of a
list with the same settings as the first item are only named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from rich.table import Table
from rich.text import Text

from inweights.cli.console.base import WIDTH, cut, out, say

if TYPE_CHECKING:
    from inweights.recipes.catalogue.settings import Setting


#: Largest number of settings that are listed one by one without ``full``.
_ROWS = 24


#: Beginning of a setting's path that is listed as one part: up to two names, each with its
#: indices in lists.
_PART = re.compile(r"(?:[a-z_]+\.(?:\d+\.)*){1,2}")


#: Path of a setting of an item in a list, except the first item.
_LATER = re.compile(r"(?P<list>[a-z_.]+)\.(?P<place>[1-9]\d*)\.(?P<rest>.+)")


def print_settings(
    found: Sequence[Setting], scales: Sequence[str], *, full: bool
) -> None:
    """Print a table of settings, with their values at each scale and their meanings.

    Args:
        found: The settings, each with its path, its value at each scale and its
            meaning.
        scales: Names of the recipe's scales. The main scale is ``cpu`` if it is among
            them, otherwise the first one.
        full: If true, list all settings in full instead of summarising them.
    """
    main = "cpu" if "cpu" in scales else scales[0]
    rows = (
        list(_rows(found, main))
        if full or len(found) <= _ROWS
        else _folded(found, main)
    )
    listed = Table(
        box=None,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="dim",
        show_header=bool(rows),
    )
    wide = min(max((len(row[0]) for row in rows), default=0), 34)
    listed.add_column("setting", no_wrap=not full, overflow="fold", max_width=34)
    listed.add_column(f"at {main}", overflow="fold", max_width=18)
    listed.add_column("meaning", overflow="fold")
    for path, value, elsewhere, meaning in rows:
        text = Text(
            meaning
            if full or " *" in meaning
            else cut(meaning, max(12, WIDTH - wide - 20))
        )
        if elsewhere:
            text.append(
                f"\n{elsewhere if full else cut(elsewhere, WIDTH - wide - 20)}", "dim"
            )
        listed.add_row(cut(path, 34), value if full else cut(value, 17), text)
    out.print(listed)
    if any(one.ours for one in found):
        paper = "; the others are the paper's at scale 'paper'" * ("paper" in scales)
        say((f"* our choice{paper}", "dim"))


Row = tuple[str, str, str, str]


def _rows(found: Sequence[Setting], main: str) -> list[Row]:
    rows = []
    for one in found:
        value = _written(one.values[main]) if main in one.values else "–"
        others = {s: _written(v) for s, v in one.values.items() if s != main}
        differ = ", ".join(f"{s}: {v}" for s, v in others.items() if v != value)
        rows.append(
            (f"{one.path} *" if one.ours else one.path, value, differ, one.meaning)
        )
    return rows


def _folded(found: Sequence[Setting], main: str) -> list[Row]:
    """Return the settings of the recipe itself, and one line for each of its parts.

    Items of a list that have the same settings as the first are named beside it.
    """
    parts: dict[str, list[Setting]] = {}
    known = {one.path for one in found}
    alike: dict[str, str] = {}
    for one in found:
        later = _LATER.match(one.path)
        if later and f"{later['list']}.0.{later['rest']}" in known:
            alike[f"{later['list']}.{later['place']}.…"] = f"{later['list']}.0.…"
            continue
        inner = _PART.match(one.path)
        parts.setdefault(f"{inner[0]}…" if inner else one.path, []).append(one)
    rows: list[Row] = []
    for part, inside in parts.items():
        if not part.endswith("…"):
            rows += _rows(inside, main)
            continue
        # If all settings of the part are ours, only the part is marked.
        every = all(one.ours for one in inside)
        names = (
            one.path.removeprefix(part.removesuffix("…"))
            + " *" * (one.ours and not every)
            for one in inside
        )
        rows.append((part + " *" * every, "", "", ", ".join(names)))
    return rows + [(item, "", "", f"as {first}") for item, first in alike.items()]


def _written(value: Any) -> str:
    """Return a value as it is written after ``--set KEY=``."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
