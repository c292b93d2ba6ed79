"""Parse TOML after checking its size, since parsing long dotted keys needs quadratic memory.

:func:`parse_toml` parses the text of files, :func:`parse_value` and :func:`value_text`
convert single values of the command line. The check before parsing considers only
strings, comments, brackets and dots.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from inweights.config.values import decode, encode
from inweights.errors import ConfigError
from inweights.support.limits import read_text

#: Maximum number of characters of a text, of characters of a dotted key, of parts of a
#: dotted key, and of brackets around a value.
MAX_TEXT = 1_000_000
MAX_KEY = 1_000
MAX_PARTS = 32
MAX_DEPTH = 32
#: Tokens of TOML. A string without an end extends to the end of its line or of the
#: text, so that no character is scanned twice.
_TOKEN = re.compile(
    r"""
    (?P<string> \"{3} (?: [^"\\] | \\. | "(?!"") )*+ (?:\"{3})?
              | '{3} (?: [^'] | '(?!'') )*+ (?:'{3})?
              | " (?: [^"\\\n] | \\[^\n] )*+ "?
              | ' [^'\n]*+ '? )
    | (?P<comment> \#[^\n]*+ )
    | (?P<space> [ \t\r]++ )
    | (?P<bare> [^\s"'\#\[\]{}.,=]++ )
    | (?P<mark> . )
    """,
    re.VERBOSE | re.DOTALL,
)


def parse_toml(text: str) -> dict[str, Any]:
    r"""Parse a TOML text and return its tables as nested dictionaries.

    Values that TOML cannot express are written as tables, as in
    :mod:`inweights.config.values`: ``{"$tuple" = [1, 2]}``, ``{"$none" = true}``.

    Args:
        text: The text, such as the contents of a file.

    Raises:
        ValueError: The text has more than 1,000,000 characters, is nested in more than
            32 brackets, has a key or number of more than 1,000 characters or a key of
            more than 32 parts, or is not valid TOML (:class:`tomllib.TOMLDecodeError`).
        ConfigError: A table has an unknown key that begins with ``$``, or the value of
            such a key is damaged.

    Example:
        >>> parse_toml("[gpt]\nwidth = 9")
        {'gpt': {'width': 9}}
        >>> parse_toml("a." * 40 + "b = 1")
        Traceback (most recent call last):
        ...
        ValueError: line 1: a key has more than 32 parts
    """
    if len(text) > MAX_TEXT:
        raise ValueError(
            f"the text has {len(text):,} characters; at most {MAX_TEXT:,} are allowed"
        )
    _measure(text)
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    found: dict[str, Any] = decode(data)
    return found


def _measure(text: str) -> None:
    line = 1
    depth = 0
    fresh = True
    header = False
    parts, length, dotted = 1, 0, False  # for the current key or number
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup
        piece = found[0]
        if piece == ".":
            parts = parts + 1
            dotted = True
        elif kind in ("bare", "string"):
            parts, length = (parts, length) if dotted else (1, 0)
            length = length + len(piece)
            dotted = False
        elif kind == "mark":
            header = header or (fresh and not depth and piece == "[")
            depth = max(0, depth + (piece in "[{") - (piece in "]}"))
        if parts > MAX_PARTS:
            raise ValueError(f"line {line}: a key has more than {MAX_PARTS} parts")
        if depth > MAX_DEPTH:
            raise ValueError(
                f"line {line}: a value is nested too deeply: it is inside {depth} pairs of "
                "brackets"
            )
        if length > MAX_KEY and (
            kind == "bare" or piece == "=" or (header and piece == "]")
        ):
            raise ValueError(
                f"line {line}: a key or a number has more than {MAX_KEY:,} characters"
            )
        if kind == "mark" and piece != ".":
            parts = 1
            length = 0
        if piece == "\n" and header:
            depth = 0
            header = False
        fresh = piece == "\n" or (fresh and kind == "space")
        line += piece.count("\n")


def parse_value(text: str) -> Any:
    """Read a value from its text on the command line.

    The text is parsed as TOML, then as JSON, then as a list from which a shell removed
    the quotes (``[gpt,mlp]``). If it is none of these, or is too long or too deeply
    nested, the value is the text itself.

    Args:
        text: The text, such as ``3``, ``[1, 2]`` or ``gpt``.

    Raises:
        ConfigError: The text is valid TOML or JSON, but contains an unknown key that
            begins with ``$``, or the value of such a key is damaged.
    """
    try:
        parsed = parse_toml(f"value = {text}")
    except ValueError:
        parsed = {}
    if set(parsed) == {"value"}:
        return parsed["value"]
    try:
        return decode(msgspec.json.decode(text))
    except (msgspec.DecodeError, RecursionError):
        inner = text[1:-1] if text[:1] == "[" and text[-1:] == "]" else ""
        if inner and not set(inner) & set("[]{}\"'"):
            return [
                parse_value(part.strip()) for part in inner.split(",") if part.strip()
            ]
        return text


def value_text(value: Any) -> str:
    """Return a text for a value that :func:`parse_value` converts back to the same value.

    Args:
        value: A value that :func:`inweights.config.values.encode` accepts.

    Raises:
        ConfigError: The value has no exact encoding
            (:func:`inweights.config.values.encode`).

    Example:
        >>> value_text([1, "gpt"]), value_text(float("inf")), value_text((1, 2))
        ('[1,"gpt"]', 'inf', '{"$tuple":[1,2]}')
    """
    data = encode(value)
    if isinstance(value, float) and isinstance(data, dict):
        return str(data["$float"])
    return msgspec.json.encode(data).decode()


def load_toml(path: Path) -> dict[str, Any]:
    """Read and parse a TOML file.

    Args:
        path: Path of the file.

    Returns:
        The tables of the file as nested dictionaries.

    Raises:
        ConfigError: The file is missing or cannot be read, is not text, is not valid
            TOML (the message names the line), has more than 1,000,000 bytes, exceeds a
            limit of :func:`parse_toml`, or contains an unknown key that begins with
            ``$``.
    """
    text = read_text(path, error=ConfigError, most=MAX_TEXT)
    try:
        return parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not a TOML file: {error}") from None
    except ValueError as error:
        raise ConfigError(f"{path} is not a valid settings file: {error}") from None
