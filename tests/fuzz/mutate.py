"""Mutate bytes, values and commands; all draws come from a given generator."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

__all__ = ["mutated_bytes", "mutated_command", "mutated_file", "mutated_value"]

#: Pieces of text that often cause errors in files and arguments.
TOKENS = (
    b"",
    b"\0",
    b"\n",
    b"\r",
    b"\t",
    b",",
    b";",
    b'"',
    b"'",
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b"@",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xae",
    b"\x1b[2J",
    b"nan",
    b"inf",
    b"-1",
    b"0",
    b"1e308",
    b"1e999",
    b"99999999999999999999",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"[" * 400,
    b'{"a":' * 400,
    b"a" * 5000,
    b"../..",
    b"/etc/passwd",
    b"$(id)",
    b"[/x]",
    b"$\\frac$",
    b"<b>",
    b"subject,relation,object",
    b"stage",
    b"e1.value",
    b"\\u0000",
    b"\\ud800",
    b"&amp;",
    b"<!ENTITY",
)
NUMBERS = (
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "0.5",
    "-0.0",
    "1e-9",
    "1e308",
    "nan",
    "inf",
    "-inf",
    "1000000",
    str(10**9),
    str(10**18),
    str(10**30),
    "1" + "0" * 320,
    "0x10",
    "1_000",
    "½",
    "",
    " ",
    "true",
)
VALUES = (
    *NUMBERS,
    "[]",
    "[0]",
    "[-1]",
    "[1,2]",
    "[1000000000]",
    "{}",
    "[[]]",
    "null",
    '""',
    "a",
    "a=b",
    "[nan]",
    '["a","a"]',
    "[[1,2],[3]]",
    "[" * 300 + "]" * 300,
    "2020-01-01",
    "é",
    "[/x]",
    "x" * 300,
)


def mutated_bytes(rng: random.Random, data: bytes) -> bytes:
    """Return bytes with up to four random edits, such as a flipped bit or a new token."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 2, 8, 64, 1000)))
        kind = rng.randrange(8)
        if kind == 0 and data:
            at = min(at, len(data) - 1)
            data = (
                data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
            )
        elif kind == 1:
            data = data[:at] + data[end:]
        elif kind == 2:
            data = data[:at]
        elif kind == 3:
            data = data[:end] + data[at:end] * rng.choice((1, 2, 50)) + data[end:]
        elif kind == 4:
            data = data[:at] + rng.randbytes(rng.choice((1, 4, 32))) + data[end:]
        elif kind == 5:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            data = b"\n".join(lines)
        else:
            data = data[:at] + rng.choice(TOKENS) + data[at if kind == 6 else end :]
    return data


def mutated_value(rng: random.Random, value: Any) -> Any:
    """Return a JSON value with one random part removed, repeated or replaced."""
    odd: tuple[Any, ...] = (
        None,
        True,
        -1,
        0,
        10**18,
        1e308,
        "",
        "\0",
        "x" * 2000,
        [],
        {},
        [[]],
        {"a": {}},
        "[/x]",
        "\ud800",
    )
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.2:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: mutated_value(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return [*value, value[at]]
        return [*value[:at], mutated_value(rng, value[at]), *value[at + 1 :]]
    return rng.choice(odd)


def mutated_file(rng: random.Random, path: Path) -> bytes:
    """Return a file's content with mutated bytes; JSON may have a mutated value instead."""
    data = path.read_bytes()
    if path.suffix in (".json", ".jsonl") and rng.random() < 0.5:
        lines = (
            [data]
            if path.suffix == ".json"
            else [one for one in data.split(b"\n") if one]
        )
        at = rng.randrange(len(lines))
        lines[at] = json.dumps(mutated_value(rng, json.loads(lines[at]))).encode()
        return b"\n".join(lines)
    return mutated_bytes(rng, data)


def mutated_command(rng: random.Random, words: list[str], pool: list[str]) -> list[str]:
    """Return a command with one to three random changes of its words."""
    words = list(words)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at = rng.randrange(len(words) + 1)
        kind = rng.choice((0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 6))
        if kind == 0 and len(words) > 1:
            words.pop(min(at, len(words) - 1))
        elif kind == 1:
            words.insert(at, rng.choice(pool))
        elif kind == 2 and at < len(words):
            words[at] = rng.choice(pool)
        elif kind == 3 and at < len(words):
            words[at] = _text(
                mutated_bytes(rng, words[at].encode("utf-8", "surrogateescape"))
            )
        elif kind == 4:
            settings = [i for i, word in enumerate(words) if "=" in word]
            if settings:
                at = rng.choice(settings)
                words[at] = words[at].partition("=")[0] + "=" + rng.choice(VALUES)
        elif kind == 5:
            options = [i for i, word in enumerate(words[:-1]) if word.startswith("--")]
            if options:
                words[rng.choice(options) + 1] = rng.choice((*NUMBERS, *pool))
        elif at < len(words):
            words[at] = rng.choice(
                (words[at] * 2, words[at].upper(), words[at][::-1], words[at][:-1])
            )
    return words


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
