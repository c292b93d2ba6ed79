"""Write small pieces of HTML: texts are escaped by :func:`escape`, elements made by :func:`tag`.

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

#: What every page of the library has in its head, and bytes in which it is looked for.
_GENERATOR = b'<meta name="generator" content="inweights">'
_HEAD = 65_536
#: Marks, embeddings, overrides and isolates.
_BIDIRECTIONAL = {
    code: f"[U+{code:04X}]"
    for code in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_VOID = {"input", "meta", "img", "br"}


def escape(text: Any) -> str:
    """Return a text in which nothing is read as markup, for use in elements and attributes.

    Unicode's bidirectional controls, which would reorder the text after them, are
    replaced by their names.

    Args:
        text: Any value, which is converted to text.

    Example:
        >>> escape('<b> & "c"'), escape("a\u202eb")
        ('&lt;b&gt; &amp; &quot;c&quot;', 'a[U+202E]b')
    """
    return html.escape(in_order(str(text)), quote=True)


def in_order(text: str) -> str:
    """Return a text in which Unicode's bidirectional controls are replaced by their names.

    Args:
        text: The text.

    Returns:
        The text with ``[U+202E]`` for the character U+202E, for example.
    """
    return text.translate(_BIDIRECTIONAL)


def tag(name: str, /, *inner: str, **attributes: str | bool | None) -> str:
    """Return an HTML element with attributes and content.

    Values of attributes are escaped. The content is not, since it is HTML already.

    Args:
        name: Name of the element, such as ``p``.
        inner: HTML within the element.
        **attributes: Values of attributes. ``True`` writes only the name of the
            attribute; ``False`` and ``None`` omit it. A trailing ``_`` of a name is
            dropped, and other underscores become ``-``.

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
    """Return a sentence as HTML, in which words between backticks are set as code.

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
        open_: Whether the block is open at first; by default it is closed.
        class_: Class of the element; ``None`` for none.
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
        caption: Caption, as plain text; words between backticks are set as code.
        more: HTML below the caption; by default nothing.
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
    """Return the names and values that are listed below a title, as HTML.

    Args:
        entries: Pairs of a name (HTML) and a value (plain text).
    """
    cells = (
        tag("div", tag("dt", name), tag("dd", escape(value))) for name, value in entries
    )
    return tag("dl", *cells, class_="meta")


def nav(links: Iterable[tuple[str, str]]) -> str:
    """Return links to the sections of a page, as HTML.

    Args:
        links: Pairs of the id and the text of a section.
    """
    ways = (tag("a", text, href=f"#{key}") for key, text in links)
    return tag("nav", *ways, aria_label="Sections")


def script_json(value: Any) -> str:
    """Return plain values as JSON that is safe inside a ``<script>`` element.

    Args:
        value: Mappings, lists, texts, finite numbers, truth values and ``None``, nested
            in any way.

    Raises:
        ValueError: A number is infinite or NaN.
        TypeError: A value is of another type.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return (
        # A "<" could end the element, and the separators are ends of lines in older
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
    """Return nested settings as nested HTML lists, in which our own choices are marked.

    Args:
        values: Nested mappings and lists of plain values.
        ours: Dotted names of settings, such as ``gpt.model.width``, that are marked as
            our choice; by default none.
        path: Dotted name of ``values`` itself; empty at the top level.

    Returns:
        A ``<ul>`` element with one entry per key (or item of a list of mappings); for a
        value that is not nested, a ``<code>`` element.
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
    """Write a page atomically, and replace only files that are pages of the library.

    Such a page names ``inweights`` as its generator. An empty file is replaced, too.

    Args:
        text: The page, as HTML.
        file: Path of the file.

    Raises:
        DataError: The file exists and is not a page of the library, or it cannot be
            written.
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
    """Return whether a file is a page of the library or does not exist, so that no data is lost."""
    try:
        with file.open("rb") as opened:
            begin = opened.read(_HEAD)
    except OSError:  # nothing is there, or what comes next says why not
        return True
    return not begin or _GENERATOR in begin
