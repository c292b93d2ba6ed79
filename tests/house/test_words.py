"""Messages, help texts and docs use standard words; ``words.py`` lists private ones."""

from __future__ import annotations

import pytest
from tests.house import words


def test_no_private_word_came_back(monkeypatch) -> None:
    messages, texts, pages = (
        list(f()) for f in (words.messages, words.texts, words.pages)
    )
    assert len(messages) > 1000
    assert any(
        place.startswith("recipes/identity_bridge/fig1.toml:") for place, _ in texts
    )
    assert any(place.startswith("README.md") for place, _ in pages)
    monkeypatch.setattr(words, "messages", lambda: iter(messages))
    monkeypatch.setattr(words, "texts", lambda: iter(texts))
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
    monkeypatch.setattr(words, "texts", lambda: iter(()))
    monkeypatch.setattr(words, "pages", lambda: iter(()))
    assert len(words.found()) == 1
    assert words.found()[0].startswith("here.py:1: ")


def test_texts_of_toml_are_read_but_for_claims() -> None:
    table = {"claims": {"a": {"says": "it was told"}}, "summary": "a fact is told"}
    assert list(words._strings(table)) == [("summary", "a fact is told")]


def test_code_and_options_are_no_words() -> None:
    assert (
        words._WORDS.search(words._plain("add `told` with --settle (told-reversals)"))
        is None
    )
