"""TOML that is too large or too deeply nested is refused before it is parsed."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inweights.cli import main
from inweights.config import Config, apply_overrides, load_toml, toml_text
from inweights.config.toml_text import (
    MAX_DEPTH,
    MAX_KEY,
    MAX_PARTS,
    MAX_TEXT,
    parse_toml,
)
from inweights.errors import ConfigError

FILE = "s.toml"
DOTTED = "a." * 50_000 + "a"
REFUSED = {
    "dotted key": (f"{DOTTED} = 1", "more than 32 parts"),
    "dotted key with spaces": ("a . " * 40 + "a = 1", "more than 32 parts"),
    "dotted key in quotes": ("'a'.\"b\"." * 40 + "a = 1", "more than 32 parts"),
    "dotted key in a table": (f"x = {{{DOTTED} = 1}}", "more than 32 parts"),
    "dotted header": (f"[{DOTTED}]", "more than 32 parts"),
    "after a text": (
        f'x = """\n"a\\"""" # "\n{DOTTED} = 1',
        "line 3: a key has more than",
    ),
    "long key": ("a" * (MAX_KEY + 1) + " = 1", "1,000 characters"),
    "long key in quotes": (f"'{'a' * MAX_KEY}' = 1", "1,000 characters"),
    "long header": (f"x = 1\n [ '{'a' * MAX_KEY}' ]", "line 2: .*1,000 characters"),
    "long number": ("x = " + "1" * 5000, "1,000 characters"),
    "deep list": ("x = " + "[" * 100_000, "inside 33"),
    "deep table": ("x = " + "{a = " * 100_000, "inside 33"),
    "long": ("x = 1\n" * 200_000, "characters; at most 1,000,000|1.2 MB"),
}


@pytest.fixture
def unparsed(monkeypatch) -> None:
    """Check that refused text is not parsed; the library's own files are."""
    loads = tomllib.loads
    refused = {text for text, _ in REFUSED.values()} | {f"{DOTTED} = 1"}

    def parsed(text: str) -> object:
        assert text not in refused, f"{text[:40]} was parsed"
        return loads(text)

    monkeypatch.setattr(tomllib, "loads", parsed)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_not_parsed(tmp_path, unparsed, name) -> None:
    text, why = REFUSED[name]
    with pytest.raises(ValueError, match=why):
        parse_toml(text)
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(ConfigError, match=why):
        load_toml(file)


@pytest.mark.parametrize(
    "words",
    [
        ("sweep", FILE),
        ("run", "demo/two-hop", "--config", FILE),
    ],
)
def test_commands_refuse_it(tmp_path, monkeypatch, unparsed, capsys, words) -> None:
    monkeypatch.chdir(tmp_path)
    Path(FILE).write_text(f"{DOTTED} = 1")
    assert main(words) == 2
    told = capsys.readouterr().err
    assert (
        f"{FILE} is not a valid settings file: line 1: a key has more than 32 parts"
        in told
    )


class Settings(Config):
    numbers: dict[str, int] = {}
    name: str = ""


def test_a_change_of_a_setting(unparsed) -> None:
    with pytest.raises(ConfigError, match="expected `object`"):
        apply_overrides(Settings(), [f"numbers={{{DOTTED} = 1}}"])
    # This is a string.
    assert apply_overrides(Settings(), [f"name={'.' * 99}"]).name == "." * 99


def test_each_character_is_looked_at_once(monkeypatch) -> None:
    """The tokens concatenate to the text, whatever quotes are unclosed."""
    for text in (
        '"""' * 999,
        '"""' + '\\"""' * 999,
        "'" * 1001,
        '"\\',
        "'''a''",
        '"\n' * 99,
        "\\",
    ):
        assert "".join(found[0] for found in toml_text._TOKEN.finditer(text)) == text


def test_limits_are_reached() -> None:
    key = ".".join("a" * MAX_PARTS)
    deep = "x = " + "[" * MAX_DEPTH + "]" * MAX_DEPTH
    long = "a" * MAX_KEY
    texts = f'y = [\n["{long * 2}"], """\n{DOTTED}"""] # {DOTTED}\n'
    for text in (f"{key} = 1", f"[{key}]\n{key} = 1", deep, f"{long} = 1", texts):
        assert parse_toml(text) == tomllib.loads(text)
    assert len(texts) < MAX_TEXT
    assert parse_toml("\n".join(f"[t{i}]\nx = [{i}.5, 2]" for i in range(99)))[
        "t98"
    ] == {"x": [98.5, 2]}


def test_what_is_no_toml_says_where() -> None:
    with pytest.raises(tomllib.TOMLDecodeError, match="line 1"):
        parse_toml("[a\n" * 99)


def said(read: Callable[[str], object], text: str) -> object:
    try:
        return read(text)
    except tomllib.TOMLDecodeError as error:
        return str(error)


@given(st.text(alphabet="ab.=[]{}\"'#\\\n ,1", max_size=40))
def test_what_is_small_is_read_as_before(text) -> None:
    assert said(parse_toml, text) == said(tomllib.loads, text)
