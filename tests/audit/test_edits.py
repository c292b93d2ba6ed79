"""Names whose spellings are similar."""

from __future__ import annotations

import numpy as np
import pytest

from inweights.audit.correction import edits


@pytest.mark.parametrize(
    ("most", "expected"),
    [
        (10, ["1 letter apart", "2 letters apart"]),
        (4, ["1 letter apart"]),
    ],
)
def test_many_names_are_similar_up_to_one_letter(
    monkeypatch: pytest.MonkeyPatch, most: int, expected: list[str]
) -> None:
    """Two names two letters apart may agree once one letter is left out of each."""
    monkeypatch.setattr(edits, "_MANY", most)
    names = ["abcdefgh", "bcdefgha", "lavender", "lavendar", "quartz"]
    found = edits.similar_names(names, np.arange(len(names)))
    assert sorted(difference for *_, difference in found) == expected
