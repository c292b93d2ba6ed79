"""The direction of imports between packages, and forbidden imports and calls."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from tests.house.imports import SOURCE, circles, imported
from tests.house.picture import PICTURE, arrows, drawn

#: From left to right; a package imports only from packages on its left, or from itself.
ORDER = (
    "worlds",
    "models",
    "theory",
    "training",
    "probes",
    "audit",
    "lm",
    "experiments",
    "recipes",
    "report",
    "actions",
)
FREE = {"errors", "config", "seeds", "support"}
#: The package's public interface and the command line may import everything.
FACE = {"__init__", "__main__", "cli"}
#: Sub-packages in the order of their imports, from the lowest; each may import those
#: before it.
ROOMS = {
    "worlds": ("readers", "knowledge", "families"),
    "theory": (
        "geometric_memory",
        "programs",
        "prediction",
        "identity_bridge",
        "feature_resemblance",
    ),
    "training": (
        "curriculum",
        "learners",
        "batches",
        "scoring",
        "steps",
        "trackers",
    ),
    "probes": ("geometry", "paths", "pictures", "interventions"),
    "lm": ("model", "exams", "tuning"),
    "experiments": ("claims", "grammar", "engine", "studies"),
    "report": ("base", "figures", "living", "pages"),
    "actions": ("ledger", "plans", "training", "zoo"),
    "runs": ("tables",),
    "cli": ("console", "commands"),
}
FILES = sorted(SOURCE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """Return the names of the packages from which a file imports."""
    return {name.split(".")[1] for name in imported(path)}


def test_arrows_point_one_way() -> None:
    wrong = {}
    for path in FILES:
        here = room(path)
        if here in FREE:
            allowed = FREE
        elif here == "runs":
            allowed = FREE | {"runs"}
        elif here in ORDER:
            allowed = FREE | {"runs"} | set(ORDER[: ORDER.index(here) + 1])
            if here not in ("experiments", "recipes", "report", "actions"):
                allowed -= {"runs"}
        else:
            assert here in FACE, (
                f"say in ORDER, and in the design, where the room '{here}' stands"
            )
            continue
        if other := imports(path) - allowed:
            wrong[str(path.relative_to(SOURCE))] = other
    assert not wrong, "these import what they must not"


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_of_a_package_are_in_order(package: str) -> None:
    order = ROOMS[package]
    here = {p.parent.name for p in (SOURCE / package).glob("*/__init__.py")}
    assert here == set(order), f"say in ROOMS where the rooms {here ^ set(order)} stand"
    for place, room in enumerate(order):
        for path in sorted((SOURCE / package / room).rglob("*.py")):
            later = {f"{package}.{other}" for other in order[place + 1 :]}
            found = {".".join(name.split(".")[1:3]) for name in imported(path)}
            assert not found & later, (
                f"{path.relative_to(SOURCE)} imports {found & later}"
            )


def test_no_modules_need_each_other() -> None:
    """There are no circular imports, even within functions."""
    assert circles() == []


def test_the_picture_shows_the_imports_of_today() -> None:
    assert drawn() == PICTURE.read_text(encoding="utf-8"), (
        "python -m tests.house.picture"
    )
    assert all(ORDER.index(a) > ORDER.index(b) for a, b in arrows() if a != "cli")


def test_imports_are_found_wherever_they_stand(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "import numpy, inweights.worlds.world\n"
        "from inweights import report\n"
        "if TYPE_CHECKING:\n    from inweights.experiments.claims.claim import Claim\n"
        "def f():\n    from inweights.cli import main\n"
    )
    assert imports(file) == {"worlds", "report", "experiments", "cli"}


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("inweights.cli", "torch"),
        ("inweights.worlds", "torch"),
        ("inweights.theory", "torch"),
        ("inweights.training", "transformers"),
        ("inweights.lm", "torch"),
    ],
)
def test_what_is_heavy_is_loaded_late(module: str, absent: str) -> None:
    script = f"import {module}, sys; assert '{absent}' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


#: Users' modules draw initial values from global generators, which are seeded and restored
#: in these files.
LENT = ("models/outside/modules.py",)
SEEDS = ("np.random.seed", "random.seed", "torch.manual_seed")
FORBIDDEN = ("torch.load", "torch.save", "eval", "exec")
PICKLES = ("pickle", "dill", "cloudpickle", "joblib")


def test_no_pickle_and_no_global_seed() -> None:
    wrong = {
        str(p.relative_to(SOURCE)): found for p in FILES if (found := forbidden(p))
    }
    assert not wrong


def forbidden(path: Path) -> list[str]:
    """Return the forbidden imports and calls of a file."""
    text = path.read_text(encoding="utf-8")
    if not any(word in text for word in (*PICKLES, *FORBIDDEN, *SEEDS)):
        return []
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", "")}
            found += names & {*PICKLES}
        if isinstance(node, ast.Call) and isinstance(
            node.func, ast.Name | ast.Attribute
        ):
            called = ast.unparse(node.func)
            lent = path.relative_to(SOURCE).as_posix() in LENT
            found += {called} & ({*FORBIDDEN} if lent else {*FORBIDDEN, *SEEDS})
    return found


def test_every_package_says_what_is_public() -> None:
    """Names without an underscore are public; ``__all__`` lists only re-exported names."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        if path.name == "__init__.py" and len(ast.parse(text).body) > 1:
            assert "__all__" in text or "lazily(__name__" in text, path


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.name == "__init__.py"], ids=lambda p: p.parent.name
)
def test_a_name_that_is_loaded_late_is_no_modules(path: Path) -> None:
    """Importing a module of that name would replace the function."""
    package = import_module(".".join(path.relative_to(SOURCE.parent).parts[:-1]))
    if "__getattr__" not in vars(package):
        return
    for name in package.__all__:
        if (path.parent / f"{name}.py").exists():
            assert isinstance(getattr(package, name), ModuleType), name
