"""Draw the packages and their imports: ``python -m tests.house.picture``.

The picture of ``docs/architecture.md`` is made from the imports of the source, and a
test compares the stored picture with a new one.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path

from tests.house.imports import SOURCE, modules, needed

PICTURE = SOURCE.parents[1] / "docs" / "images" / "architecture.svg"
#: Packages from left to right, in the order of the test of import directions; packages
#: that all others may import are left out.
ORDER = [
    "worlds",
    "models",
    "theory",
    "training",
    "probes",
    "audit",
    "lm",
    "experiments",
    "recipes",
    "report",
    "actions",
    "cli",
]
_WIDTH, _GAP, _LINE, _TOP = 84, 14, 15, 30


def rooms() -> dict[str, list[str]]:
    """Return the sub-packages of every package, which for recipes are papers."""
    return {
        name: sorted(one.parent.name for one in (SOURCE / name).glob("*/__init__.py"))
        for name in ORDER
    }


def arrows() -> Counter[tuple[str, str]]:
    """Return the number of modules of a package that import from another, for each pair."""
    found: Counter[tuple[str, str]] = Counter()
    for name, path in modules().items():
        here = name.partition(".")[0]
        others = {whole.split(".")[1] for whole in needed(path)}
        found.update((here, other) for other in others if {here, other} <= {*ORDER})
    return Counter({pair: count for pair, count in found.items() if pair[0] != pair[1]})


def drawn() -> str:
    """Return the picture as SVG."""
    held, found = rooms(), arrows()
    tall = _TOP + _LINE * max(map(len, held.values())) + 12
    left = {name: 10 + place * (_WIDTH + _GAP) for place, name in enumerate(ORDER)}
    deep = 60 + 17 * len(ORDER)
    wide, high = 10 + len(ORDER) * (_WIDTH + _GAP), tall + 3 * deep // 4 + 50
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="11" role="img">',
        "<title>Packages of inweights, and who imports whom</title>",
        f'<rect width="{wide}" height="{high}" rx="8" fill="#ffffff"/>',
    ]
    for (importer, other), count in sorted(found.items()):
        one, two = left[importer] + _WIDTH / 2, left[other] + _WIDTH / 2
        low = tall + 14 + deep * abs(one - two) / (wide * 0.95)
        colour = "#c0392b" if one < two else "#4c72b0"
        lines.append(
            f'<path d="M{one:.0f} {tall}C{one:.0f} {low:.0f} {two:.0f} {low:.0f} {two:.0f} {tall}" '
            f'fill="none" stroke="{colour}" stroke-opacity=".55" '
            f'stroke-width="{0.6 + min(count, 40) / 10:.1f}">'
            f"<title>{count} modules of {importer} import from {other}</title></path>"
        )
    for name in ORDER:
        x = left[name]
        lines.append(
            f'<rect x="{x}" y="10" width="{_WIDTH}" height="{tall - 10}" rx="5" fill="#eef2f8" '
            f'stroke="#4c72b0"/><text x="{x + 6}" y="26" font-weight="bold" fill="#1b2a41">'
            f"{name}</text>"
        )
        for place, room in enumerate(held[name], start=1):
            text = escape(room.replace("_", " "))
            fit = (
                ' textLength="74" lengthAdjust="spacingAndGlyphs"'
                if len(text) > 12
                else ""
            )
            lines.append(
                f'<text x="{x + 6}" y="{_TOP + 4 + _LINE * place}" '
                f'fill="#44546a"{fit}>{text}</text>'
            )
    lines.append(
        f'<text x="12" y="{high - 10}" fill="#44546a">A line leads from a package down and back to '
        "one that it imports; the wider, the more modules do.</text></svg>"
    )
    return "\n".join(lines) + "\n"


def main(place: Path = PICTURE) -> None:
    place.write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
