"""Typeset a filled report as a PDF with typst.

The tokens of Markdown are translated to typst; ``docs/report/layout.typ`` defines the
layout of the pages.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
from markdown_it.token import Token

from inweights.errors import InweightsError
from inweights.report.base.save import svg
from inweights_report.formulas import formula
from inweights_report.reading import is_caption, parse, plain
from inweights_report.template import FOLDER, Filled

__all__ = ["PDFToolMissingError", "typeset"]

HOW_TO_GET_IT = (
    "no PDF: typst is not installed. 'pip install typst' adds it (a wheel without "
    "dependencies, in the extra 'docs'); the HTML needs none"
)
#: Number of letters above which a table is set in small type and may be split between pages.
_DENSE = 8000
#: A column whose texts have at most this number of characters is as wide as its text.
_NARROW = 13


class PDFToolMissingError(InweightsError):
    """The program that typesets the PDF is not installed."""


def typeset(report: Filled, file: Path) -> int:
    """Write a report as a PDF; the same text always gives the same bytes.

    Args:
        report: The filled report.
        file: Path of the PDF.

    Returns:
        The number of pages.

    Raises:
        PDFToolMissingError: typst is not installed. The message states how to install it.
    """
    if find_spec("typst") is None:
        raise PDFToolMissingError(HOW_TO_GET_IT)
    import typst

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        writer = _Writer(folder)
        body = writer.blocks(parse(report.text))
        (folder / "figures").mkdir()
        for name, picture in report.pictures.items():
            (folder / "figures" / f"{name}.svg").write_text(svg(picture, name), "utf-8")
        shutil.copy(FOLDER / "layout.typ", folder / "layout.typ")
        about = ", ".join(
            f"{key}: {_quoted(value)}" for key, value in report.about.items()
        )
        source = f'#import "layout.typ": *\n#show: report.with(about: ({about}))\n\n'
        (folder / "main.typ").write_text(source + body, "utf-8")
        fonts = [str(Path(mpl.get_data_path()) / "fonts" / "ttf")]
        compiler = typst.Compiler(str(folder / "main.typ"), font_paths=fonts)
        file.parent.mkdir(parents=True, exist_ok=True)
        compiler.compile(output=str(file), format="pdf", timestamp=0)
        pages = compiler.query("metadata", field="value")
    return int(json.loads(pages)[-1])


class _Writer:
    """Translator of tokens to typst, which writes formulas as files to a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.formulas = 0

    def blocks(self, tokens: Sequence[Token]) -> str:
        """Return the blocks as typst, in their order."""
        parts: list[str] = []
        place = 0
        while place < len(tokens):
            token = tokens[place]
            end = _end(tokens, place)
            inside = tokens[place + 1 : end]
            if token.type == "paragraph_open":
                after = tokens[end + 1] if end + 1 < len(tokens) else None
                is_table = after is not None and after.type == "table_open"
                if is_table and is_caption(inside[0], "Table"):
                    last = _end(tokens, end + 1)
                    parts.append(self.table(tokens[end + 2 : last], inside[0]))
                    end = last
                elif _picture(inside[0]):
                    last = _end(tokens, end + 1)
                    parts.append(self.figure(inside[0], tokens[end + 2]))
                    end = last
                else:
                    parts.append(self.inline(inside[0]))
            else:
                parts.append(self.block(token, inside))
            place = end + 1
        return "\n\n".join(parts)

    def block(self, token: Token, inside: Sequence[Token]) -> str:
        """Return a block that is not a paragraph as typst."""
        kind = token.type
        if kind == "heading_open":
            return f"#heading(level: {int(token.tag[1]) - 1})[{self.inline(inside[0])}]"
        if kind in ("bullet_list_open", "ordered_list_open"):
            name = "list" if kind.startswith("bullet") else "enum"
            items = "".join(f"[{item}]," for item in self.items(inside))
            return f"#{name}({items})"
        if kind == "blockquote_open":
            return f"#block-of-summary[{self.blocks(inside)}]"
        if kind == "fence":
            return f"#raw({_quoted(token.content.rstrip())}, block: true)"
        if kind == "math_block":
            return f"#align(center, {self.math(token.content)})"
        if kind == "table_open":
            return self.table(inside, None)
        raise NotImplementedError(f"a report has no '{kind}'")

    def items(self, tokens: Sequence[Token]) -> Iterator[str]:
        """Yield the items of a list."""
        place = 0
        while place < len(tokens):
            end = _end(tokens, place)
            yield self.blocks(tokens[place + 1 : end])
            place = end + 1

    def figure(self, picture: Token, caption: Token) -> str:
        """Return a picture with its caption below it."""
        source = str((picture.children or [])[0].attrs["src"])
        alt = _quoted((picture.children or [])[0].content)
        return f"#picture({_quoted(source)}, {alt})[{self.inline(caption)}]"

    def table(self, tokens: Sequence[Token], caption: Token | None) -> str:
        """Return a table with its caption above it, and columns that fit their texts."""
        rows: list[list[Token]] = []
        for token, after in pairwise(tokens):
            if token.type == "tr_open":
                rows.append([])
            if token.type in ("th_open", "td_open"):
                rows[-1].append(after)
        longest = [max(len(plain(row[c])) for row in rows) for c in range(len(rows[0]))]
        total = [sum(len(plain(row[c])) for row in rows) for c in range(len(rows[0]))]
        columns = ", ".join(
            "auto"
            if most <= _NARROW
            else f"{round(min(200, max(12, each / len(rows))) ** 0.7, 1)}fr"
            for most, each in zip(longest, total, strict=True)
        )
        head = "".join(f"[{self.inline(cell)}]," for cell in rows[0])
        body = "\n".join(
            "".join(f"[{self.inline(cell)}]," for cell in row) for row in rows[1:]
        )
        above = f"[{self.inline(caption)}]" if caption else "none"
        dense = "true" if sum(total) > _DENSE else "false"
        return (
            f"#rows(({columns},), {above}, ({head}), {len(rows)}, {dense},\n({body}))"
        )

    def inline(self, token: Token) -> str:
        """Return the text of a paragraph or cell as typst."""
        return "".join(map(self.span, token.children or []))

    def span(self, token: Token) -> str:
        """Return one token within a text as typst."""
        opens = {"strong_open": "#strong[", "em_open": "#emph["}
        if token.type in opens:
            return opens[token.type]
        if token.type in ("strong_close", "em_close", "link_close"):
            return "]"
        if token.type == "text":
            return f"#{_quoted(token.content)};" if token.content else ""
        if token.type in ("softbreak", "hardbreak"):
            return " " if token.type == "softbreak" else "\\ "
        if token.type == "code_inline":
            return f"#code({_quoted(token.content)});"
        if token.type == "math_inline":
            return f"#{self.math(token.content)};"
        if token.type == "link_open":
            return f"#link({_quoted(str(token.attrs['href']))})["
        raise NotImplementedError(f"a report has no '{token.type}'")

    def math(self, latex: str) -> str:
        """Return a formula as a picture on the baseline of the text."""
        made = formula(latex)
        self.formulas += 1
        name = f"formula-{self.formulas}.svg"
        (self.folder / name).write_text(made.svg, "utf-8")
        return (
            f'box(baseline: {made.depth:.2f}pt, image("{name}", '
            f"height: {made.height:.2f}pt))"
        )


def _end(tokens: Sequence[Token], place: int) -> int:
    """Return the index at which a block ends that begins at the given index."""
    depth = 0
    for offset, token in enumerate(tokens[place:]):
        depth += token.nesting
        if depth == 0:
            return place + offset
    raise ValueError("a block has no end")


def _picture(token: Token) -> bool:
    """Return whether a paragraph consists only of a picture."""
    children = token.children or []
    return len(children) == 1 and children[0].type == "image"


def _quoted(text: str) -> str:
    """Return a text as a string literal of typst."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
