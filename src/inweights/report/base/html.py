"""Create pieces of HTML: :func:`escape` escapes text, and :func:`tag` creates elements.

All pages are built from these functions and from
:mod:`inweights.report.base.html_tables`; :func:`write_page` writes the file.
"""

import base64
import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inweights.errors import DataError
from inweights.report.base.tidy import plain
from inweights.support.publish import publish_file

#: Element in the head of every page of the library, and number of bytes in which it is
#: searched for.
_GENERATOR = b'<meta name="generator" content="inweights">'
_HEAD = 65_536
#: Replacements of bidirectional controls: marks, embeddings, overrides and isolates.
_BIDIRECTIONAL = {
    code: f"[U+{code:04X}]"
    for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_VOID = {"input", "meta", "img", "br"}


def escape(text: Any) -> str:
    """Return a value as text that is escaped for HTML elements and attributes.

    Unicode bidirectional control characters, which would reorder the text that follows,
    are replaced by their names.

    Args:
        text: Any value, which is converted to a string.

    Example:
        >>> escape('<b> & "c"'), escape("a\u202eb")
        ('&lt;b&gt; &amp; &quot;c&quot;', 'a[U+202E]b')
    """
    return html.escape(in_order(str(text)), quote=True)


def in_order(text: str) -> str:
    """Replace Unicode bidirectional control characters, which reorder the text that follows.

    Args:
        text: The text.

    Returns:
        The text with the names of these characters in brackets, such as ``[U+202E]`` in
        place of the character U+202E.
    """
    return text.translate(_BIDIRECTIONAL)


def tag(name: str, /, *inner: str, **attributes: str | bool | None) -> str:
    """Return an HTML element with attributes and content.

    Values of attributes are escaped. The content must be HTML and is not escaped.

    Args:
        name: Name of the element, such as ``p``.
        inner: Pieces of HTML within the element, which are concatenated. They are
            ignored for ``input``, ``meta``, ``img`` and ``br``.
        **attributes: Values of attributes. If ``True``, only the name of the attribute
            is written; if ``False`` or ``None``, the attribute is omitted. Underscores
            at the end of a name are removed, and other underscores become ``-``.

    Example:
        >>> tag("p", escape("a < b"), class_="note", hidden=False)
        '<p class="note">a &lt; b</p>'
    """
    parts = [name]
    for key, value in attributes.items():
        written = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(written)
        elif value is not None and value is not False:
            parts.append(f'{written}="{escape(value)}"')
    head = f"<{' '.join(parts)}>"
    return head if name in _VOID else f"{head}{''.join(inner)}</{name}>"


def prose(text: str) -> str:
    """Return a sentence as HTML; text between backticks becomes a ``<code>`` element.

    Args:
        text: The sentence, as plain text, which is escaped.

    Example:
        >>> prose("uses `b -> b`")
        'uses <code>b -&gt; b</code>'
    """
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def disclosure(
    summary: str, *inner: str, open_: bool = False, class_: str | None = None
) -> str:
    """Return a block that a reader can open and close (``<details>``), as HTML.

    Args:
        summary: The line that is always shown, as HTML.
        inner: The content that is shown when the block is open, as pieces of HTML.
        open_: Whether the block is open when the page is loaded; by default false.
        class_: CSS class of the element; ``None`` for no class.
    """
    return tag("details", tag("summary", summary), *inner, open=open_, class_=class_)


def figure_card(
    number: int, key: str, title: str, picture: str, caption: str, *more: str
) -> str:
    """Return a numbered figure with title and caption, as HTML.

    Args:
        number: Number of the figure on its page, from 1.
        key: Identifier; the id of the element is ``figure-<key>``.
        title: Title, as plain text.
        picture: The picture, as HTML.
        caption: Caption, as plain text, in which text between backticks becomes a
            ``<code>`` element.
        more: HTML below the caption; by default empty.
    """
    return tag(
        "figure",
        tag("h3", tag("span", f"Figure {number}"), escape(title)),
        tag("div", picture, class_="card"),
        tag("figcaption", prose(caption)),
        *more,
        id=f"figure-{key}",
    )


def meta(entries: Iterable[tuple[str, str]]) -> str:
    """Return names and values as a definition list in HTML, as shown below the title of a page.

    Args:
        entries: Pairs of a name (HTML) and a value (plain text, which is escaped).
    """
    cells = (
        tag("div", tag("dt", name), tag("dd", escape(value))) for name, value in entries
    )
    return tag("dl", *cells, class_="meta")


def nav(links: Iterable[tuple[str, str]]) -> str:
    """Return links to the sections of a page as a ``<nav>`` element.

    Args:
        links: Pairs of the id of a section and the text of its link, which is HTML.
    """
    ways = (tag("a", text, href=f"#{key}") for key, text in links)
    return tag("nav", *ways, aria_label="Sections")


def script_json(value: Any) -> str:
    """Return plain values as JSON that is safe inside a ``<script>`` element.

    Args:
        value: Strings, finite numbers, Booleans and ``None``, and any nesting of
            mappings and lists of these.

    Raises:
        ValueError: A number is infinite or NaN.
        TypeError: A value has a different type.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return (
        # A "<" could end the element, and the separators end lines in older versions of
        # JavaScript.
        in_order(text)
        .replace("<", "\\u003c")
        .replace("\u2028", "\\u2028")
        .replace("\u2029", "\\u2029")
    )


def data_uri(content: bytes, kind: str) -> str:
    """Return bytes as a ``data:`` URI.

    Args:
        content: The bytes.
        kind: Media type, such as ``image/png``.
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def tree(values: Any, ours: Sequence[str] = (), path: str = "") -> str:
    """Return nested settings as nested lists in HTML, in which our own choices are marked.

    Args:
        values: Nested mappings and lists of plain values.
        ours: Dotted names of the settings that the library's authors chose, such as
            ``gpt.model.width``, which are marked; by default none.
        path: Dotted name of ``values`` itself; empty at the top level.

    Returns:
        A ``<ul>`` element with one entry for each key, or for each item of a list of
        mappings. For a value that is not nested or is empty, a ``<code>`` element.
    """
    mapping = isinstance(values, Mapping)
    if mapping:
        entries = [(str(key), value) for key, value in values.items()]
    elif isinstance(values, list | tuple) and any(
        isinstance(v, Mapping) for v in values
    ):
        entries = [(str(place), value) for place, value in enumerate(values)]
    else:
        return tag("code", escape(_setting(values)))
    if not entries:
        return tag("code", "{}")
    items = []
    for key, value in entries:
        full = path
        if mapping:
            full = f"{path}.{key}" if path else key
        mark = (
            tag("span", "our choice", class_="ours") if mapping and full in ours else ""
        )
        items.append(
            tag(
                "li",
                tag("span", escape(key), class_="key"),
                tree(value, ours, full),
                mark,
            )
        )
    return tag("ul", *items, class_="tree")


def _setting(value: Any) -> str:
    if isinstance(value, str):
        return value or '""'
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) if value else "[]"
    return plain(value)


def write_page(text: str, file: Path) -> None:
    """Write a page atomically, replacing an existing file only if it is a page of the library.

    A page of the library names ``inweights`` as its generator in a ``meta`` element. An
    empty file is also replaced.

    Args:
        text: The page, as HTML.
        file: Path of the file.

    Raises:
        DataError: The file exists and is not a page of the library, the path is not a
            file, or the file cannot be written.
    """
    if file.exists() and not file.is_file():
        raise DataError(
            f"the page {file} cannot be written: the path is not a file; choose another name"
        )
    if not _is_page(file):
        raise DataError(
            f"refusing to overwrite {file}: it was not written by inweights; choose another name"
        )
    try:
        publish_file(file, text.encode())
    except OSError as error:
        raise DataError(
            f"the page {file} cannot be written: {error.strerror}"
        ) from None


def _is_page(file: Path) -> bool:
    """Return whether a file is a page of the library, is empty or cannot be read."""
    try:
        with file.open("rb") as opened:
            begin = opened.read(_HEAD)
    except OSError:  # there is no file, or writing it fails with a message
        return True
    return not begin or _GENERATOR in begin
