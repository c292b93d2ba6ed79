"""Questions that are scored in batches have the same scores as alone."""

from __future__ import annotations

import numpy as np
import pytest

from inweights.lm import load_model, log_likelihoods
from inweights.lm.model import score


@pytest.mark.parametrize(
    ("most", "sizes"), [(1, [1, 1, 1]), (3, [1, 1, 1]), (4, [2, 1]), (6, [3])]
)
def test_questions_are_read_together_up_to_a_number_of_candidates(
    monkeypatch: pytest.MonkeyPatch, most: int, sizes: list[int]
) -> None:
    """Questions have two candidates each; a batch has at least one question."""
    lm = load_model("@tiny")
    prompts = ["Rome is in"] * 3
    candidates = [[" Italy", " Peru"], [" Oslo", " a"], [" Rome", " b"]]
    alone = [
        log_likelihoods(lm, [prompt], [row])[0]
        for prompt, row in zip(prompts, candidates, strict=True)
    ]
    whole, read, told = score._score, list[int](), list[tuple[int, int]]()

    def noted(*given):
        read.append(len(given[1]))
        return whole(*given)

    monkeypatch.setattr(score, "_ROWS", most)
    monkeypatch.setattr(score, "_score", noted)
    found = log_likelihoods(
        lm, prompts, candidates, progress=lambda *now: told.append(now)
    )
    assert read == sizes
    assert told == [(sum(sizes[: i + 1]), 3) for i in range(len(sizes))]
    np.testing.assert_allclose(found, alone, rtol=1e-5)
