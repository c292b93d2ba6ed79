"""Return BibTeX entries of the papers that the recipes reproduce, and of this project."""

import textwrap

from inweights.recipes.papers import papers
from inweights.runs.environment import version_of

#: Paper that is cited for recipes without a paper of their own, by the folder of the
#: recipes.
_OF = {"demo": "identity-bridge"}


def citations(name: str = "") -> list[str]:
    """Return the BibTeX entries of papers, followed by the entry of this project.

    Args:
        name: Short name of a paper, such as ``geometric-memory``, or full name of a
            recipe, for the entry of its paper. By default the entries of all papers are
            returned. For an unknown name, only the entry of this project is returned.

    Returns:
        The entries, each a string with line breaks. The entry of this project comes
        last.
    """
    known = {
        name: dict(entry.citation) for name, entry in papers().items() if entry.citation
    }
    if name:
        source = name.partition("/")[0]
        known = {
            key: about for key, about in known.items() if key == _OF.get(source, source)
        }
    entries = [_entry(about.pop("key"), about) for about in known.values()]
    about = {
        "title": "inweights: a laboratory for in-weights reasoning",
        "author": "{the inweights authors}",
        "year": "2026",
        "version": version_of("inweights"),
    }
    return [*entries, _entry("inweights", about)]


def _entry(key: str, about: dict[str, str]) -> str:
    """Return one BibTeX entry."""
    kind = "software"
    if "booktitle" in about:
        kind = "inproceedings"
    elif "eprint" in about:
        kind = "misc"
    fields = [f"  {name} = {{{value}}}," for name, value in about.items()]
    lines = [textwrap.fill(field, 80, subsequent_indent="    ") for field in fields]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
