"""Commands that only read start quickly: they import few modules, and no torch or scipy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.runs.tiny import RECIPE

HEAVY = ("torch", "scipy", "sklearn", "matplotlib", "networkx", "transformers")
#: Upper limit of the modules that all these commands load, including Python's own; torch
#: alone has two thousand.
MOST = 1000
SCRIPT = """
import json, sys
from inweights.cli import main
seen = {}
for name, words in json.loads(sys.argv[1]).items():
    code = main(words)
    heavy = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
    seen[name] = [code, heavy, len(sys.modules)]
print(json.dumps(seen))
"""
LOOKS = {
    "list": ["list"],
    "list-part": ["list", "geometric-memory"],
    "runs": ["runs"],
    "show": ["show", "two-hop", "--scale", "smoke"],
    "show-hash": ["show", "HASH"],
    "compare": ["compare", "HASH", "two-hop", "--scale", "smoke"],
    "verify": ["verify"],
    "verify-run": ["verify", "--scale", "smoke"],
    "verify-part": ["verify", "identity-bridge"],
    "describe": ["describe", "fig2"],
    "describe-lm": ["describe", "feature-resemblance/table2", "--full"],
    "cite": ["cite", "fig2"],
}


def seen(
    looks: dict[str, list[str]], heavy: tuple[str, ...], runs: str
) -> dict[str, list[Any]]:
    """Run commands in one process; return each exit code and the modules loaded by then."""
    environment = os.environ | {
        "INWEIGHTS_RUNS": runs,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", SCRIPT, json.dumps(looks), json.dumps(heavy)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_looking_is_quick(demos: Path) -> None:
    """All commands that only read, run in one process, together import few modules."""
    run = next((demos / "demo" / "two-hop").iterdir()).name
    looks = {
        name: [run if word == "HASH" else word for word in words]
        for name, words in LOOKS.items()
    }
    after = seen(looks, HEAVY, str(demos))
    assert {name: told[:2] for name, told in after.items()} == {
        name: [0, []] for name in LOOKS
    }
    assert max(modules for _, _, modules in after.values()) < MOST


def test_tables_are_not_loaded_where_nothing_has_run(tmp_path) -> None:
    looks = {word: [word] for word in ("list", "runs", "verify")}
    after = seen(looks, ("polars", "numpy"), str(tmp_path))
    assert {name: heavy for name, (_, heavy, _) in after.items()} == {
        name: [] for name in looks
    }


def test_no_recipe_loads_torch() -> None:
    script = (
        "import sys, inweights.recipes as r\n"
        "for name in r.recipe_names():\n"
        "    r.get_recipe(name)\n"
        "    for heavy in sys.argv[1:]:\n"
        "        assert heavy not in sys.modules, (name, heavy)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *HEAVY], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_index_is_what_the_recipes_say() -> None:
    from importlib import resources

    from tests.house.catalogue import current

    written = (
        resources.files("inweights.recipes.catalogue")
        .joinpath("index.jsonl")
        .read_bytes()
    )
    assert written == current(), "write it: python -m tests.house.catalogue"


def test_a_recipe_of_a_plugin_is_read_from_itself(monkeypatch) -> None:
    from inweights import recipes
    from inweights.recipes.catalogue.index import entry_of

    monkeypatch.setitem(recipes._registered, RECIPE.name, RECIPE)
    assert entry_of(RECIPE.name).title == RECIPE.title
