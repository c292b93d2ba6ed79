"""Links that open an executed notebook elsewhere, once the project has a public address."""

from __future__ import annotations

import pytest


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
