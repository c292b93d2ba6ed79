"""The library's numbers change only with a new version (``tests/house/golden.py``)."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from tests.house import golden

from inweights import models, probes, worlds
from inweights.config import digest
from inweights.models.registry import model_kind, model_names
from inweights.recipes import get_recipe
from inweights.support.keys.plain import plain
from inweights.support.keys.sources import RAISED, sources_of
from inweights.training import Curriculum, Optimizer, Phase
from inweights.worlds.registry import world_kind

ITEMS = golden.items()


@pytest.mark.parametrize("name", ITEMS)
def test_numbers_are_the_stored_ones(name: str) -> None:
    item, table = ITEMS[name], golden.stored().get(name)
    assert table is not None, "python -m tests.house.golden --write adds it"
    assert table["version"] == item.version
    said = golden.differences(item, table)
    assert not said, "\n".join(
        [
            f"raise the version of {item.owner} (inweights.support.keys.sources.RAISED)",
            *said,
        ]
    )


def test_a_zero_is_a_count_or_has_a_size() -> None:
    """An exact zero of a difference may be a rounding error on other processors."""
    counted = {"accuracy", "exact", "worst", "nearest", "ridge"}
    # Shares of statements.
    counted |= {
        "bridge",
        "relation",
        "answer",
        "clean",
    }
    # The same by an edit.
    counted |= {
        "holds",
        "restored",
        "reached",
        "unmoved",
        "others",
    }
    for name, table in golden.stored().items():
        zeros = {
            column.partition(",")[0]
            for column, one in table.items()
            if isinstance(one, float) and not one
        }
        assert zeros <= counted | set(golden.SIZES), f"{name}: counts, or golden.SIZES"
    item, table = ITEMS["probe direction"], golden.stored()["probe direction"]
    moved = item.make() | {"expected, mean": 2 * golden.GAP}
    other = golden.Item(item.owner, lambda: moved, item.tolerance * 2**24)
    assert golden.differences(item, table) == []
    assert golden.differences(other, table) == [
        f"expected, mean: 0.0 was stored, {2 * golden.GAP} is computed"
    ]


def test_nothing_is_left_out() -> None:
    def own(kind: type) -> bool:
        return kind.__module__.startswith("inweights.")

    kinds = {name for name in worlds.world_names() if own(world_kind(name))}
    assert kinds == set(golden.WORLDS)
    assert {name for name in model_names() if own(model_kind(name))} == set(
        golden.MODELS
    )
    used = {phase.optimizer.kind for phase in golden.OPTIMIZERS.values()}
    names, _own = get_args(get_type_hints(Optimizer)["kind"])
    assert used == set(get_args(names))
    for module in pkgutil.walk_packages(probes.__path__, f"{probes.__name__}."):
        for name, one in vars(importlib.import_module(module.name)).items():
            if (
                inspect.isfunction(one)
                and one.__module__ == module.name
                and name[0] != "_"
            ):
                given = inspect.signature(one)
                looks = list(given.parameters)[:2] == ["model", "worlds"]
                if looks and "DataFrame" in str(given.return_annotation):
                    assert f"probe {name}" in ITEMS, name
    assert set(golden.stored()) == set(ITEMS)
    assert all(version > 1 for version in RAISED.values())


def test_a_raised_version_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    learner = Curriculum(phases=(Phase(steps=3, optimizer=Optimizer(kind="sgd")),))
    things = [probes.accuracy, worlds.TwoHop(), models.GPTConfig(), learner]

    def keys() -> list[str]:
        folder = get_recipe("identity-bridge/fig2").resolve("smoke")[2]
        return [*(digest(plain(one)) for one in things), digest(folder)]

    before = keys()
    for place, name in enumerate(["accuracy", "TwoHop", "GPTConfig", "Optimizer"]):
        with monkeypatch.context() as patch:
            patch.setitem(RAISED, name, 2)
            now = keys()
            changed = [i for i in range(5) if now[i] != before[i]]
            # The key of the config, and the folder of a recipe that uses it.
            assert changed == [place, 4], name
    assert keys() == before
    monkeypatch.setitem(RAISED, "accuracy", 3)
    assert sources_of(probes.accuracy) == {"inweights:accuracy": "version 3"}


def test_writing_keeps_what_has_no_raised_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed number is reported and not written; new versions and items are written."""
    few = {n: ITEMS[n] for n in ("world two-hop", "model gpt", "probe accuracy")}
    monkeypatch.setattr(golden, "items", lambda: few)
    monkeypatch.setattr(golden, "FILE", tmp_path / "golden.toml")
    monkeypatch.setattr(sys, "argv", ["golden", "--write"])
    assert golden.main() == 0
    assert set(golden.stored()) == set(few)
    whole = golden.FILE.read_text()
    golden.FILE.write_text(
        whole.replace('"facts" = 45', '"facts" = 44').replace("8", "9")
    )
    monkeypatch.setitem(RAISED, "accuracy", 2)
    assert golden.main() == 1
    told = capsys.readouterr().out
    assert (
        "world two-hop: its numbers changed; raise its version\n  facts: 44 was stored, 45"
        in told
    )
    assert "probe accuracy: version 2 is new" in told
    tables = golden.stored()
    assert tables["world two-hop"]["facts"] == 44
    assert (tables["probe accuracy"]["version"], tables["probe accuracy"]["rows"]) == (
        2,
        8,
    )
