"""States and cosines computed in blocks equal those computed at once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from inweights.models import EmbMLPConfig
from inweights.probes import states
from inweights.probes.states import by_replica, cosine_blocks, last_states


@pytest.mark.parametrize("worlds", [1, 2])
@pytest.mark.parametrize(("most", "sizes"), [(1, [1] * 5), (4, [2, 2, 1]), (10, [5])])
def test_prompts_are_read_some_at_a_time(monkeypatch, worlds, most, sizes) -> None:
    """Blocks have as many prompts as fit, at least one, and give the same states."""
    model = EmbMLPConfig(width=8).build(vocabulary=9, seeds=[0, 1])
    prompts = [np.random.default_rng(k).integers(9, size=(5, 2)) for k in range(worlds)]
    whole = last_states(model, prompts)
    monkeypatch.setattr(states, "MAX_POSITIONS", most)
    hidden, read = model.hidden, []

    def noted(batch, **options):
        found = hidden(batch, **options)
        read.append(next(iter(found.values())).shape[1])
        return found

    monkeypatch.setattr(model, "hidden", noted)
    found = last_states(model, prompts)
    assert read == sizes
    assert list(found) == list(whole)
    for layer, expected in whole.items():
        torch.testing.assert_close(found[layer], expected)


@pytest.mark.parametrize(
    ("most", "ends"), [(0, [1, 2, 3, 4, 5]), (5, [2, 4, 5]), (50, [5])]
)
def test_cosines_come_in_blocks(monkeypatch, most, ends) -> None:
    """Each row occurs once, with all columns, for any groups of a replica."""
    monkeypatch.setattr(states, "MAX_LOGITS", most)
    one, two = torch.randn(2, 2, 5, 3, generator=torch.Generator().manual_seed(0))
    groups = np.array([[0, 1, 0, 1, 2], [2, 2, 2, 0, 1]])
    blocks = list(cosine_blocks(one, two, groups))
    cosines = torch.cat([found for _, found, _ in blocks], 1)
    same = torch.cat([found for _, _, found in blocks], 1)
    assert [rows.stop for rows, _, _ in blocks] == ends
    assert [rows.start for rows, _, _ in blocks] == [0, *ends[:-1]]
    every = torch.cosine_similarity(one[:, :, None], two[:, None], dim=-1)
    torch.testing.assert_close(cosines, every)
    assert (same.numpy() == (groups[:, :, None] == groups[:, None])).all()


@pytest.mark.parametrize(("count", "blocks"), [(2048, 1), (2049, 2)])
def test_up_to_2048_states_are_one_block(count, blocks) -> None:
    flat = torch.ones(1, count, 1)
    assert (
        len(list(cosine_blocks(flat, flat, np.zeros((1, count), dtype=int)))) == blocks
    )


def test_rows_of_replicas_are_plain_numbers() -> None:
    rows = by_replica(2, layer="sum", value=torch.tensor([1, 2]))
    assert rows == [
        {"replica": 0, "layer": "sum", "value": 1},
        {"replica": 1, "layer": "sum", "value": 2},
    ]
