"""Correct names whose damage is recognisable, such as ``Quill &amp; Co``.

:func:`repaired` returns the corrected name, and :func:`parts_of` the values of a cell
that contains several. Remarks on values use both, as does the correction of a user's
facts.
"""

import html
import json
import re
from collections.abc import Container
from functools import lru_cache
from urllib.parse import unquote

_REFERENCE = re.compile(r"&(#\d+|#x[0-9a-f]+|[a-z]+\d*);", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]|]+))?\]\]")
_INVISIBLE = re.compile("[\u200b\u2060\ufeff\u00ad]")
_STRONG = re.compile(
    r"\*\*([^*]+)\*\*|__([^_]+)__|<([a-z]+)>([^<>]+)</\3>", re.IGNORECASE
)
_QUOTES = {"'": "'", '"': '"', "“": "”", "„": "“", "«": "»", "‘": "’", "`": "`"}
#: Characters of which every damaged name contains at least one. Most names contain
#: none.
_BROKEN = re.compile("[&ÃÂâÅÄ\u200b\u2060\ufeff\u00ad\\[*<%'\"“„«‘`]|__")
#: Separators of which every cell with several values contains at least one.
_SEVERAL = re.compile(r"[;|,/&+\[{\n]|\s(?:and|und|et|y)\s")
_ENCODED = re.compile(r"%[0-9A-F]{2}", re.IGNORECASE)


@lru_cache(maxsize=2**16)
def repaired(name: str) -> tuple[str, str]:
    """Return the repaired name, and a description of the damage.

    Args:
        name: A name from a file.

    Returns:
        The corrected name, and a description of the damage. If there is no damage,
        these are the name itself and an empty string. Each call corrects only one type
        of damage; if there may be several, call the function again with the result.

    Example:
        >>> repaired("Quill &amp; Co"), repaired("Leeds")
        (('Quill & Co', 'an HTML character reference'), ('Leeds', ''))
        >>> repaired("[[Leeds]]"), repaired("'Leeds'")
        (('Leeds', 'a wiki link'), ('Leeds', 'quotes around the name'))
    """
    if not _BROKEN.search(name):
        return name, ""
    for damage, corrected in (
        ("an HTML character reference", _unescaped),
        ("letters read in the wrong encoding", _decoded),
        ("an invisible character", _visible),
        ("a wiki link", _unlinked),
        ("text markup", _plain),
        ("quotes around the name", _unquoted),
        ("percent-encoded letters", _readable),
    ):
        new = " ".join(corrected(name).split())
        if new and new != name:
            return new, damage
    return name, ""


def parts_of(
    name: str, known: Container[str], *, sure: bool = False
) -> tuple[str, ...]:
    """Return the values that a cell seems to contain, or an empty tuple if there is only one.

    A list in brackets is split into its elements. Any other cell is split at semicolons
    and bars, or else at line breaks, or else at commas, slashes, or words such as
    *and*. Names that contain ``://`` are never split.

    Args:
        name: The cell.
        known: Names that occur elsewhere. A cell is split at commas, slashes or words
            only if each part is one of these names.
        sure: Whether to split only if each part is known, and never at commas, slashes
            or words. For example, *Paris, France* is one place, although both of its
            parts are names.

    Returns:
        The values, at least two unless the cell is a list in brackets; empty if the
        cell is not split.

    Example:
        >>> parts_of("Finnish; Sami", ()), parts_of("Washington, D.C.", ("Washington",))
        (('Finnish', 'Sami'), ())
    """
    if not _SEVERAL.search(name) or name.startswith("[[") or "://" in name:
        return ()
    inner = name[1:-1] if name[:1] + name[-1:] in ("[]", "{}") else ""
    if inner:
        return _if_known(_listed(name, inner), known, sure=sure)
    for separator in (r"\s*[;|]\s*", r"\s*\n\s*"):
        found = _parted(separator, name)
        if found:
            return _if_known(found, known, sure=sure)
    if sure:
        return ()
    for separator in (r",\s*", r"\s*/\s*", r"\s+(?:and|und|et|y|&|\+)\s+"):
        found = _parted(separator, name)
        if found and all(part in known for part in found):
            return found
    return ()


def _if_known(
    parts: tuple[str, ...], known: Container[str], *, sure: bool
) -> tuple[str, ...]:
    """Return the parts, or an empty tuple if ``sure`` is True and a part is not known."""
    return () if sure and not all(part in known for part in parts) else parts


def _parted(separator: str, name: str) -> tuple[str, ...]:
    """Split a name at a separator; return an empty tuple if there is only one part."""
    found = tuple(part.strip() for part in re.split(separator, name) if part.strip())
    return found if len(found) > 1 else ()


def _listed(name: str, inner: str) -> tuple[str, ...]:
    """Return the values of a list in brackets, as JSON or separated by commas."""
    try:
        found = json.loads(name)
    except (ValueError, RecursionError):
        found = None
    if (
        isinstance(found, list)
        and found
        and all(isinstance(part, str) for part in found)
    ):
        return tuple(part.strip() for part in found if part.strip())
    return tuple(part.strip(" '\"") for part in _parted(r"\s*[,;|]\s*", inner))


def _unescaped(name: str) -> str:
    """Replace HTML character references, such as ``&amp;``, by the characters."""
    return html.unescape(name) if _REFERENCE.search(name) else name


def _decoded(name: str) -> str:
    """Decode UTF-8 that was read as Windows-1252."""
    if not set("ÃÂâÅÄ") & set(name):
        return name
    try:
        return name.encode("cp1252").decode("utf-8")
    except UnicodeError:
        return name


def _visible(name: str) -> str:
    """Remove invisible characters."""
    return _INVISIBLE.sub("", name)


def _unlinked(name: str) -> str:
    """Return the text of a wiki link, such as ``[[Leeds]]``."""
    found = _LINK.fullmatch(name)
    return (found[2] or found[1]) if found else name


def _plain(name: str) -> str:
    """Return a name without enclosing markup, such as ``**Leeds**``."""
    found = _STRONG.fullmatch(name)
    return (found[1] or found[2] or found[4]) if found else name


def _unquoted(name: str) -> str:
    """Return a name without enclosing quotes."""
    end = _QUOTES.get(name[:1])
    if end is None or len(name) < 3 or not name.endswith(end):
        return name
    inner = name[1:-1]
    return name if end in inner else inner


def _readable(name: str) -> str:
    """Decode percent-encoded letters, such as ``S%C3%A3o``."""
    if not _ENCODED.search(name) or " " in name or "://" in name:
        return name
    found = unquote(name, errors="replace")
    return name if "\ufffd" in found else found
