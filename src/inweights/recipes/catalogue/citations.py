"""How to cite: the papers whose recipes these are, and this project, as BibTeX."""

import textwrap
from importlib.metadata import version

from inweights.recipes.papers import papers

#: Whose paper recipes show that have none of their own.
_OF = {"demo": "identity-bridge"}


def citations(name: str = "") -> list[str]:
    """Return BibTeX entries: of the project, and of a paper or a recipe's paper, or of all."""
    known = {name: dict(entry.citation) for name, entry in papers().items() if entry.citation}
    if name:
        source = name.partition("/")[0]
        known = {key: about for key, about in known.items() if key == _OF.get(source, source)}
    entries = [_entry("misc", about.pop("key"), about) for about in known.values()]
    about = {
        "title": "inweights: a laboratory for in-weights reasoning",
        "author": "{the inweights authors}",
        "version": version("inweights"),
    }
    return [*entries, _entry("software", "inweights", about)]


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    fields = {name: f"  {name} = {{{value}}}," for name, value in fields.items()}
    lines = [textwrap.fill(field, 80, subsequent_indent="    ") for field in fields.values()]
    missing = [name for name in ("author", "year") if name not in fields]
    if missing and kind == "misc":
        lines.append(f"  note = {{{' and '.join(missing)}: take from the paper}},")
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
