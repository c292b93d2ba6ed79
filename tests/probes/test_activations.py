"""Each row of the table is the state of the prompt and the position that it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from tests.foreign.stranger import gpt

import inweights as iw
from inweights.errors import ConfigError, DataError
from inweights.probes import activations, write_activations

WORLD = iw.TwoHop(n=4).build(seed=0)
NAMES = WORLD.vocabulary


@torch.no_grad()
def test_a_row_is_the_state_that_a_plain_hook_sees() -> None:
    plain, seen = gpt(vocab_size=len(NAMES)), []
    block: Any = plain.transformer["h"][0]
    block.register_forward_hook(lambda *args: seen.append(args[2]))
    table = activations(iw.wrap(plain), WORLD, layers=["transformer.h.0"])
    assert table.height == sum(
        len(s.prompt) for part in (WORLD.facts, WORLD.queries) for s in part
    )
    for row in table.sample(12, seed=0).rows(named=True):
        ids = [NAMES.id(name) for name in row["prompt"].split()]
        plain(torch.tensor([ids]))
        assert NAMES.names[ids[row["position"]]] == row["token"]
        torch.testing.assert_close(
            torch.tensor(row["state"]), seen[-1][0, row["position"]]
        )


def test_positions_by_name_and_number() -> None:
    model = iw.GPTConfig(layers=1, width=8).build(vocabulary=len(NAMES), seeds=2)
    named = activations(model, WORLD, layers=["final"], position="r1")
    assert set(named["token"]) == {"r1"}
    assert named["replica"].unique().sort().to_list() == [0, 1]
    last = activations(model, WORLD, position=-1, parts=["queries"])
    assert set(last["layer"]) == set(model.layer_names)
    assert set(last["position"]) == {2}
    with pytest.raises(DataError, match="no prompt among the facts has a position 7"):
        activations(model, WORLD, position=7, parts=["facts"])
    with pytest.raises(DataError, match="unknown token 'r9'"):
        activations(model, WORLD, position="r9")
    with pytest.raises(ConfigError, match="unknown layer 'finale'"):
        activations(model, WORLD, layers=["finale"])


def test_a_file_has_the_rows_of_the_table(tmp_path: Path) -> None:
    worlds = [iw.TwoHop(n=4, maps="permutation").build(seed) for seed in (1, 2)]
    for given in (WORLD, worlds):
        model = iw.GPTConfig(layers=1, width=8).build(vocabulary=len(NAMES), seeds=2)
        table = activations(model, given, layers=["block.0"])
        path = write_activations(
            model, given, tmp_path / "s.safetensors", layers=["block.0"]
        )
        with safe_open(path, framework="pt") as file:
            states, rows = (
                file.get_tensor("block.0"),
                json.loads(file.metadata()["rows"]),
            )
        for replica in (0, 1):
            own = table.filter(replica=replica)
            listed = rows if isinstance(rows[0], dict) else rows[replica]
            assert (
                own.select("part", "role", "prompt", "position", "token").to_dicts()
                == listed
            )
            assert own["state"].to_list() == states[replica].tolist()
