"""Messages, help texts and docs use standard words; see ``words.py`` for those that do not."""

from __future__ import annotations

import pytest
from tests.house import words


def test_no_private_word_came_back(monkeypatch) -> None:
    messages, pages = list(words.messages()), list(words.pages())
    assert len(messages) > 1000
    assert any(place.startswith("README.md") for place, _ in pages)
    monkeypatch.setattr(words, "messages", lambda: iter(messages))
    monkeypatch.setattr(words, "pages", lambda: iter(pages))
    assert words.found() == []


@pytest.mark.parametrize(
    "text",
    [
        "a model was told the facts",
        "rate is above 0, not -1",
        "{name} is no name but 5",
        "facts that are let go",
        "one file, a line a fact",
    ],
)
def test_a_private_word_is_noticed(text, monkeypatch) -> None:
    monkeypatch.setattr(words, "messages", lambda: iter([("here.py:1", text)]))
    monkeypatch.setattr(words, "pages", lambda: iter(()))
    assert len(words.found()) == 1
    assert words.found()[0].startswith("here.py:1: ")


def test_code_and_options_are_no_words() -> None:
    assert words._WORDS.search(words._plain("add `told` with --settle (told-reversals)")) is None
