"""What only looks answers at once: it imports little, and neither torch nor scipy."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from tests.runs.tiny import RECIPE

from inweights.cli import main

HEAVY = ("torch", "scipy", "sklearn", "matplotlib", "networkx", "transformers")
#: Modules that a look may import, with those of Python itself; torch alone has two thousand.
MOST = 1000
SCRIPT = """
import json, sys
from inweights.cli import main
code = main(json.loads(sys.argv[1]))
heavy = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
print(json.dumps([code, len(sys.modules), heavy]))
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


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[str, str]:
    """A finished run of the demonstration, and its hash."""
    root = tmp_path_factory.mktemp("runs")
    assert main(["run", "two-hop", "--scale", "smoke", "--runs", str(root), "--json"]) == 0
    return str(root), next((root / "demo" / "two-hop").iterdir()).name


@pytest.mark.parametrize("name", LOOKS)
def test_looking_is_quick(finished, name: str) -> None:
    root, run = finished
    words = [run if word == "HASH" else word for word in LOOKS[name]]
    environment = os.environ | {"INWEIGHTS_RUNS": root, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT, json.dumps(words), json.dumps(HEAVY)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    code, modules, heavy = json.loads(done.stdout.splitlines()[-1])
    assert (code, heavy) == (0, [])
    assert modules < MOST


def test_tables_are_not_loaded_where_nothing_has_run(tmp_path) -> None:
    environment = os.environ | {"INWEIGHTS_RUNS": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    for words in (["list"], ["runs"], ["verify"]):
        command = [sys.executable, "-c", SCRIPT, json.dumps(words), '["polars", "numpy"]']
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert json.loads(done.stdout.splitlines()[-1])[2] == []


def test_no_recipe_loads_torch() -> None:
    script = (
        "import sys, inweights.recipes as r\n"
        "for name in r.recipe_names():\n"
        "    r.get_recipe(name)\n"
        "    for heavy in sys.argv[1:]:\n"
        "        assert heavy not in sys.modules, (name, heavy)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, *HEAVY], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_index_is_what_the_recipes_say() -> None:
    from importlib import resources

    from inweights.recipes.catalogue.index import current

    written = resources.files("inweights.recipes.catalogue").joinpath("index.jsonl").read_bytes()
    assert written == current(), "write it: python -m inweights.recipes.catalogue.index"


def test_a_recipe_of_a_plugin_is_read_from_itself(monkeypatch) -> None:
    from inweights import recipes
    from inweights.recipes.catalogue.index import entry_of

    monkeypatch.setitem(recipes._registered, RECIPE.name, RECIPE)
    assert entry_of(RECIPE.name).title == RECIPE.title
