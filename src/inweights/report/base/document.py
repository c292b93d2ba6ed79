"""Build a page as one HTML file that opens offline, with a strict content security policy.

:func:`document` joins head, styles, body and scripts. Only the inline scripts and style
elements of the library's own assets and of plotly are allowed; the policy identifies
them by the hash of their text. Therefore a script in a name from a data file would not
run even if the name were not escaped. Style attributes of single elements are allowed,
since SVG uses many of them.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources

from inweights.report.base.html import escape, tag

#: The style element in every SVG file of matplotlib.
_STYLES = ("*{stroke-linejoin: round; stroke-linecap: butt}",)


def document(
    title: str,
    body: str,
    *,
    styles: Sequence[str],
    scripts: Sequence[str] = (),
    class_: str | None = None,
) -> str:
    """Return a complete HTML page that can be opened offline.

    Args:
        title: Title of the page, as plain text, which is escaped here.
        body: Content of the page, as HTML, which is not escaped.
        styles: File names of style sheets in ``report/assets``, such as ``page.css``.
        scripts: Source code of scripts, which are placed at the end of the body; by
            default none.
        class_: CSS class of the body element; ``None`` for no class.

    Returns:
        The text of the page, which begins with ``<!doctype html>``.

    Raises:
        OSError: A style sheet does not exist.
    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(scripts)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="inweights"),
        tag("title", escape(title)),
        *(tag("style", asset(name)) for name in styles),
    )
    code = "".join(tag("script", script) for script in scripts)
    inside = tag("body", body, code, class_=class_)
    return f'<!doctype html>\n<html lang="en">{head}{inside}</html>\n'


@cache
def asset(name: str) -> str:
    """Return the text of a file in ``report/assets``.

    Args:
        name: Name of the file, such as ``page.css``.

    Raises:
        OSError: There is no file with this name.
    """
    return (
        resources.files("inweights.report")
        .joinpath("assets", name)
        .read_text(encoding="utf-8")
    )


def _policy(scripts: Sequence[str]) -> str:
    assets = resources.files("inweights.report").joinpath("assets").iterdir()
    own = sorted(file.name for file in assets)
    code = [asset(name) for name in own if name.endswith(".js")]
    looks = [*_STYLES, *(asset(name) for name in own if name.endswith(".css"))]
    # Plotly creates its own style elements, which differ from version to version.
    styles = _hashes(looks) if set(scripts) <= set(code) else "'unsafe-inline'"
    return (
        f"default-src 'none'; script-src {_hashes([*code, *scripts])}; "
        f"style-src-elem {styles}; style-src-attr 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = (hashlib.sha256(text.encode()).digest() for text in dict.fromkeys(texts))
    return " ".join(
        f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests
    )
