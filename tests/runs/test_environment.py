"""A run's record of its environment, which is read without side effects."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from inweights.runs import environment, repositories

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(*words: str) -> None:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *name, *words], check=True, capture_output=True)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a git repository with one commit the current folder."""
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    Path("mine.py").write_text("one = 1\n")
    git("add", "mine.py")
    git("commit", "-q", "-m", "one")
    return tmp_path


@needs_git
def test_the_commit_of_the_current_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = repositories()["current folder"]
    assert len(first["commit"]) == 40
    assert first["clean"] is True
    # Untracked files, such as runs, are not counted as changes.
    (here / "runs.json").write_text("{}")
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert repositories()["current folder"] == first
    (here / "mine.py").write_text("one = 2\n")
    assert repositories()["current folder"] == {**first, "clean": False}
    git("commit", "-q", "-a", "-m", "two")
    second = repositories()["current folder"]
    assert second["clean"] is True
    assert second["commit"] != first["commit"]


@needs_git
def test_no_program_of_a_repository_is_run(here: Path) -> None:
    """Git would run a filter or monitor in the repository's config when it looks for changes."""
    ran = here / "ran"
    (here / ".gitattributes").write_text("*.py filter=own\n")
    git("config", "core.fsmonitor", f"touch {ran}; false")
    assert repositories()["current folder"]["clean"] is True
    git("config", "filter.own.clean", f"touch {ran}; cat")
    (here / "mine.py").write_text("two = 2\n")
    assert repositories()["current folder"]["clean"] is None
    assert not ran.exists()


@needs_git
def test_a_repository_without_a_commit_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    assert "current folder" not in repositories()


@needs_git
def test_a_library_that_is_installed_below_a_repository_is_not_of_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For example, if it is installed in an environment ``.venv`` within a project."""
    package = here / ".venv" / "lib" / "site-packages" / "inweights"
    package.mkdir(parents=True)
    monkeypatch.setattr(sys.modules[repositories.__module__], "_LIBRARY", package)
    monkeypatch.chdir(package)
    assert "inweights" not in repositories()
    (here / "src" / "inweights").mkdir(parents=True)
    monkeypatch.setattr(
        sys.modules[repositories.__module__], "_LIBRARY", here / "src" / "inweights"
    )
    assert list(repositories()) == ["inweights"]


def test_without_git_there_are_no_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert repositories() == {}
    broken = tmp_path / "git"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    assert repositories() == {}
    broken.write_text("no program\n")
    assert repositories() == {}
    assert environment()["repositories"] == {}


def test_versions_of_all_dependencies() -> None:
    packages = environment()["packages"]
    assert packages["numpy"] == np.__version__
    assert packages["torch"].partition("+")[0] == torch.__version__.partition("+")[0]
    # One package requires another.
    assert {"inweights", "msgspec", "joblib"} <= set(packages)
    assert not {"pytest", "ruff", "mypy", "sphinx"} & set(packages)


def test_linear_algebra_and_processor() -> None:
    np.linalg.inv(np.eye(2))
    told = environment()
    assert told["processor"]
    assert all(one["threads"] >= 1 for one in told["blas"])
    assert told["torch"]["threads"] == torch.get_num_threads()
    assert told["torch"]["instructions"] == torch.backends.cpu.get_cpu_capability()


def test_asking_does_not_load_torch() -> None:
    code = (
        "import sys\nfrom inweights.runs.environment import environment\n"
        "told = environment()\nassert told['torch'] == {}\nassert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
