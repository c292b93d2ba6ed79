"""Notebooks have links to Colab and Binder once the project has a public address."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("urls", "found"),
    [
        ("", ""),
        ('[project.urls]\nRepository = "https://github.com/some/lab.git"', "some/lab"),
        (
            '[project.urls]\nRepository = "https://github.com/some/in.weights/"',
            "some/in.weights",
        ),
        ('[project.urls]\nRepository = "https://example.org/lab"', ""),
    ],
)
def test_the_address_is_that_of_the_project(notebooks, urls, found, tmp_path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(f'[project]\nname = "lab"\n{urls}\n')
    assert notebooks.address(file) == found


def test_badges_open_the_executed_notebook(notebooks) -> None:
    colab, binder = notebooks.badges("probe", "some/lab").split(" [")
    place = "_static/notebooks/probe.ipynb){.badge}"
    host = "https://colab.research.google.com/github/some/lab"
    assert colab == f"[Open in Colab]({host}/blob/gh-pages/{place}"
    host = "https://mybinder.org/v2/gh/some/lab/gh-pages?urlpath=lab/tree"
    assert binder == f"Open on Binder]({host}/{place}"


def test_without_an_address_there_is_no_badge(notebooks) -> None:
    assert notebooks.badges("probe", "") == ""


def test_the_release_writes_the_branch_that_the_links_name(notebooks) -> None:
    workflow = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert f"/blob/{branch_of(workflow)}/" in notebooks.badges("probe", "some/lab")


def branch_of(workflow: str) -> str:
    """Return the branch to which a workflow writes the built site."""
    (command,) = (line for line in workflow.splitlines() if "ghp-import --" in line)
    return command.partition("--branch ")[2].split()[0]
