"""The citation file has the released version and its date."""

from __future__ import annotations

import re
import tomllib

from tests.house.citation import FILE, citation, main, marked, missing

ROOT = FILE.parent


def test_the_version_is_that_of_the_package_and_of_the_changelog() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert citation()["version"] == project["version"]
    released = re.findall(
        r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    assert released[0] == (project["version"], citation()["date-released"])


def test_what_people_have_to_add_is_named() -> None:
    nobody = {"authors": [{"name": "the inweights authors"}]}
    assert missing(nobody) == ["authors", "repository-code", "doi"]
    somebody = {"authors": [{"family-names": "A"}], "repository-code": "x", "doi": "y"}
    assert missing(somebody) == []
    steps = (ROOT / "RELEASING.md").read_text("utf-8")
    assert all(f"`{name}`" in steps for name in ("repository-code", "doi"))


def test_a_field_is_marked_until_it_is_filled_in() -> None:
    assert marked(FILE.read_text("utf-8")) == missing(citation())


def test_nothing_is_published_without_authors_and_an_address(monkeypatch) -> None:
    assert main([]) == 0
    somebody = {"authors": [{"family-names": "A"}], "repository-code": "x"}
    project = {"project": {"urls": {"Repository": "x"}}}
    monkeypatch.setattr("tests.house.citation.citation", lambda: somebody)
    monkeypatch.setattr("tests.house.citation.tomllib.loads", lambda text: project)
    assert main(["--publish"]) == 0
    somebody["repository-code"] = ""
    assert main(["--publish"]) == 1
