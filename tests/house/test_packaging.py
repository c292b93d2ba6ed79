"""The conda recipe agrees with ``pyproject.toml``; the container runs existing targets."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
#: Names at conda-forge of packages that have other names at PyPI.
AT_CONDA = {"torch": "pytorch", "matplotlib": "matplotlib-base"}


def recipe() -> dict[str, Any]:
    text = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text("utf-8")
    return yaml.safe_load(text)


def as_conda(requirement: str) -> str:
    """Return a requirement in conda's form: ``pytorch >=2.4`` for ``torch>=2.4``."""
    name, version = re.fullmatch(r"([\w-]+)(>=[\d.]+)", requirement).groups()
    return f"{AT_CONDA.get(name, name)} {version}"


def test_the_recipe_is_that_of_the_package() -> None:
    made, project = recipe(), PROJECT["project"]
    assert made["context"]["version"] == project["version"]
    python = f"python {project['requires-python']}"
    needed = [as_conda(one) for one in project["dependencies"]]
    assert made["requirements"]["run"] == [python, *needed]
    building = [as_conda(one) for one in PROJECT["build-system"]["requires"]]
    assert made["requirements"]["host"] == [python, "pip", *building]
    commands = [f"{name} = {to}" for name, to in project["scripts"].items()]
    assert made["build"]["python"]["entry_points"] == commands
    assert made["about"]["summary"] == project["description"]
    assert made["about"]["license"] == project["license"]


def test_the_container_runs_targets_that_are_there() -> None:
    text = (ROOT / "packaging" / "Containerfile").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    ran = re.findall(r"make (\w+)|\"make\", \"(\w+)\"", text)
    named = {one or other for one, other in ran} - {"python3"}
    assert {"demo", "test"} <= named
    assert [one for one in named if f"\n{one}: " not in makefile] == []
