"""Write the reference of the command line from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from inweights.cli.commands import complete_app
from inweights_site.text import table

__all__ = ["pages"]

_HEAD = """# Commands

Each page shows the output of `inweights COMMAND --help` for one command. Every command has the
option `--json`. The exit code is 2 for invalid input, with a one-line message that says what to do,
and 1 for a failed run.

"""


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and the Markdown of the list of commands and of each command's page."""
    text = complete_app().generate_docs(output_format="markdown")
    start = text.index("\n## inweights ")
    text = re.sub(
        r"^(#+) inweights (.+)$", r"\1 `\2`", text[start:], flags=re.MULTILINE
    )
    # Under 'python -m sphinx', each usage contains a part of the name of that program.
    text = re.sub(r"^(inweights \S+) -m \S+", r"\1", text, flags=re.MULTILINE)
    # Defaults of switches (off) and of lists (empty) are not shown.
    text = re.sub(r' \*\[default: (?:False|\(\)|"")\]\*', "", text)
    rows, names = list[list[str]](), list[str]()
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, body = part.split("\n", 1)
        name = title.strip("`-")
        names.append(name)
        # Two hyphens must not become a dash.
        shown = title.strip("`").replace("--", "\N{NON-BREAKING HYPHEN}" * 2)
        rows.append([f"{{doc}}`{shown} <commands/{name}>`", _first(body)])
        yield (
            f"commands/{name}.md",
            f"# {title}\n{body.replace('### ', '## ').rstrip()}\n",
        )
    tree = [
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(f"commands/{name}" for name in names),
        "```",
        "",
    ]
    yield (
        "commands.md",
        "\n".join([_HEAD + "\n".join(table(["command", ""], rows)), *tree]),
    )


def _first(body: str) -> str:
    """Return the first paragraph that is not a block of code."""
    plain = re.sub(r"^```.*?^```$", "", body, flags=re.MULTILINE | re.DOTALL)
    return " ".join(plain.strip().split("\n\n")[0].split())
