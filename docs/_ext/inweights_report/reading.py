"""Parse a filled report into tokens of Markdown, for the PDF and for the page."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

__all__ = ["READER", "is_caption", "parse", "plain"]


#: Options of the Markdown parser, for modules that write HTML from the tokens.
READER = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)


def parse(text: str) -> list[Token]:
    """Return the tokens of a text: paragraphs, lists, tables, pictures and formulas."""
    return READER.parse(text)


def plain(token: Token) -> str:
    """Return the text of an inline token without its markup."""
    return "".join(child.content for child in token.children or [])


def is_caption(token: Token, kind: str) -> bool:
    """Return whether an inline token is the caption of a ``Table`` or ``Figure``."""
    children = token.children or []
    # The text before bold words at the beginning is an empty token.
    marks = [child.type for child in children if child.type != "text" or child.content]
    return marks[:1] == ["strong_open"] and plain(token).startswith(f"{kind} ")
