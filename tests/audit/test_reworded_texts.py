"""Texts by a model are used only if they contain words of the relation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from inweights.audit import augment
from inweights.audit.strategies.statements import paraphrases
from inweights.worlds import read_knowledge


@pytest.mark.parametrize(
    ("relation", "said", "kept"),
    [
        # Words of more than three letters in any form, and no shorter ones.
        ("eats at", "Ann eats daily in Rome", True),
        ("eats at", "Ann was at home in Rome", False),
        ("won the medal", "Ann got medals in Rome", True),
        ("won the medal", "Ann won a race in Rome", False),
        # Short words, if there are no longer ones.
        ("met", "Ann once met Rome", True),
        ("met", "Ann once saw Rome", False),
        ("sat by", "Ann was by Rome", True),
    ],
)
def test_a_reworded_text_has_a_word_of_the_relation(
    tmp_path: Path, relation: str, said: str, kept: bool
) -> None:
    def rewrite(texts: Sequence[str]) -> list[str]:
        return [said] * len(texts)

    file = tmp_path / "facts.csv"
    file.write_text(f"Ann,{relation},Rome\n", encoding="utf-8")
    strategies = [paraphrases.__name__]
    made = augment(read_knowledge(file), strategies=strategies, rewrite=rewrite)
    assert made.rewritten == (kept, 1)
