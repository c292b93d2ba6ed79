"""``constraints.txt`` pins all requirements, so that ``--no-deps`` leaves nothing out."""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from tests.house import environment
from tests.house.environment import PINS, ROOT, STAGES, Environment, SetupError

#: Classifier of a supported version of Python.
VERSION = re.compile(r"Programming Language :: Python :: (3\.\d+)")
#: The extra of the package whose requirements each stage has to satisfy.
EXTRAS = {"demo": "interactive", "docs": "docs", "dev": "dev"}
PLATFORMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {
        "sys_platform": "darwin",
        "platform_system": "Darwin",
        "os_name": "posix",
    },
    "windows": {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"},
}
CUDA = ["filelock", 'cuda-toolkit[cublas]==13.0.3; platform_system == "Linux"']


def pinned(*parts: str) -> dict[str, Requirement]:
    """Return the pins of some parts by package name."""
    lines = environment.read_pins()
    pins = [Requirement(line) for part in parts for line in lines[part]]
    return {canonicalize_name(pin.name): pin for pin in pins}


@cache
def all_asked(name: str) -> list[Requirement]:
    """Return all requirements of a package; an empty list if it is not installed."""
    try:
        return list(map(Requirement, metadata.requires(name) or []))
    except metadata.PackageNotFoundError:
        return []


def asked(name: str, extra: str, machine: Mapping[str, str]) -> Iterator[Requirement]:
    """Yield the requirements of an installed package that apply to a machine."""
    for requirement in all_asked(name):
        # Only CUDA builds of torch have this requirement; the set-up chooses the build.
        if name == "torch" and environment.takes_cuda([str(requirement)]):
            continue
        if requirement.marker is None or requirement.marker.evaluate(
            {**machine, "extra": extra}
        ):
            yield requirement


def lacks(
    start: list[Requirement], pins: dict[str, Requirement], machine: dict[str, str]
) -> list[str]:
    """Follow requirements recursively; return those that the pins do not satisfy."""
    lacking = []
    waiting, seen = list(start), set[tuple[str, str]]()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        pin = pins.get(name)
        applies = pin is not None and (
            pin.marker is None or pin.marker.evaluate(machine)
        )
        if pin is None or not applies:
            lacking.append(f"{requirement} has no pin")
            continue
        (version,) = pin.specifier
        if not requirement.specifier.contains(version.version, prereleases=True):
            lacking.append(f"{requirement} is not satisfied by {pin}")
        for extra in {"", *requirement.extras} - {
            extra for known, extra in seen if known == name
        }:
            seen.add((name, extra))
            waiting += asked(name, extra, machine)
    return sorted(set(lacking))


@pytest.fixture(scope="module")
def as_pinned() -> None:
    """Skip unless installed packages are the pinned ones, whose requirements are read."""
    for name, pin in pinned(*environment.read_pins()).items():
        try:
            version = metadata.version(name).partition("+")[0]
        except metadata.PackageNotFoundError:
            continue
        if not pin.specifier.contains(version, prereleases=True):
            pytest.skip(
                f"{name} {version} is installed, not {pin}; make sets up what is pinned"
            )


def versions() -> list[str]:
    """Return the versions of Python that the project's classifiers name."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    said = tomllib.loads(text)["project"]["classifiers"]
    return [found[1] for one in said if (found := VERSION.fullmatch(one))]


@pytest.mark.usefixtures("as_pinned")
@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", versions())
@pytest.mark.parametrize("stage", STAGES)
def test_every_requirement_is_pinned(stage: str, python: str, platform: str) -> None:
    machine = {key: str(value) for key, value in default_environment().items()}
    machine |= PLATFORMS[platform] | {
        "python_version": python,
        "python_full_version": f"{python}.0",
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    start = [Requirement(line) for line in project["build-system"]["requires"]]
    start += [Requirement("editables"), *asked("inweights", "", machine)]
    start += asked("inweights", EXTRAS[stage], machine)
    own = {"inweights": Requirement("inweights==" + metadata.version("inweights"))}
    assert lacks(start, pinned(*STAGES[stage]) | own, machine) == []


@pytest.mark.usefixtures("as_pinned")
@pytest.mark.parametrize("python", versions())
def test_the_first_release_of_each_python_will_do(python: str) -> None:
    newer = {}
    for name in pinned(*STAGES["dev"]):
        try:
            needed = str(metadata.metadata(name).json.get("requires_python", ""))
        except metadata.PackageNotFoundError:
            continue
        if not SpecifierSet(needed).contains(f"{python}.0"):
            newer[name] = needed
    assert newer == {}


def test_what_is_not_pinned_is_found() -> None:
    machine = {key: str(value) for key, value in default_environment().items()}
    pins = pinned("demo")
    del pins["mdurl"]
    pins["numpy"] = Requirement("numpy==1.0")
    found = lacks([Requirement("rich"), Requirement("scipy")], pins, machine)
    assert [line.partition(" ")[0].partition("~")[0] for line in found[:1]] == ["mdurl"]
    assert any(line.endswith("is not satisfied by numpy==1.0") for line in found)


def test_each_pin_is_one_version_and_stands_once() -> None:
    lines = [line for part in environment.read_pins().values() for line in part]
    pins = [Requirement(line) for line in lines]
    assert [
        str(pin) for pin in pins if [one.operator for one in pin.specifier] != ["=="]
    ] == []
    assert len({canonicalize_name(pin.name) for pin in pins}) == len(pins)
    assert len(lines) == sum(
        "==" in line for line in PINS.read_text("utf-8").splitlines()
    )


class Recorded(Environment):
    """An environment that records what it would install."""

    def __init__(self, folder: Path, requirements: list[str]) -> None:
        super().__init__(folder)
        self.requirements, self.installs = requirements, list[list[str]]()

    def dry_run(self, pin: str) -> list[str]:
        return self.requirements

    def installed(self, name: str) -> str:
        return ""

    def install_by_pip(self, words: list[str]) -> None:
        self.installs.append(["pip", *words])

    def install_by_uv(self, words: list[str]) -> None:
        self.installs.append(["uv", *words])


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Pretend to be Linux without a GPU."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(environment, "has_nvidia_gpu", lambda: False)
    return monkeypatch


@pytest.mark.usefixtures("linux")
def test_without_a_gpu_no_cuda_build_is_installed(tmp_path: Path) -> None:
    made = Recorded(tmp_path, CUDA)
    with pytest.raises(SetupError, match=r"torch 2\.13\.0 for CPUs was not found"):
        made.install_torch("torch==2.13.0", cuda=False)
    assert made.installs == []
    made.uv = "uv"
    assert made.install_torch("torch==2.13.0", cuda=False) == "CPU build"
    assert made.installs == [
        ["uv", "--no-deps", "--torch-backend", "cpu", "torch==2.13.0"]
    ]


@pytest.mark.usefixtures("linux")
def test_torch_alone_is_the_build_for_cpus_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Recorded(tmp_path, CUDA)
    made.uv = "uv"
    monkeypatch.setattr(made, "make", lambda: None)
    monkeypatch.setattr(made, "find_uv", lambda pin: None)
    environment.set_up(made, environment.TORCH_ALONE)
    [words] = made.installs
    assert words[:4] == ["uv", "--no-deps", "--torch-backend", "cpu"]


def test_the_cuda_build_is_installed_where_it_is_of_use_or_wanted(
    linux: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    wanted = Recorded(tmp_path, CUDA)
    assert wanted.install_torch("torch==2.13.0", cuda=True) == "CUDA build"
    linux.setattr(environment, "has_nvidia_gpu", lambda: True)
    found = Recorded(tmp_path, CUDA)
    assert found.install_torch("torch==2.13.0", cuda=False) == "CUDA build"
    assert (
        found.installs == wanted.installs == [["pip", "-c", str(PINS), "torch==2.13.0"]]
    )


@pytest.mark.usefixtures("linux")
def test_a_cpu_build_that_pip_finds_is_taken(tmp_path: Path) -> None:
    made = Recorded(tmp_path, ["filelock", "jinja2"])
    made.uv = "uv"
    assert made.install_torch("torch==2.13.0", cuda=False) == "CPU build"
    assert made.installs == [["pip", "--no-deps", "torch==2.13.0"]]


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("global.index-url='https://mirror.example'", False),
        (":env:.index-url='https://mirror.example'", False),
        ("global.extra-index-url='https://mirror.example'", True),
        ("", True),
    ],
)
def test_uv_is_fetched_only_where_pip_uses_the_public_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, found: bool
) -> None:
    made = Recorded(tmp_path, [])
    fetched: list[list[str]] = []

    def answers(words: list[str]) -> bool:
        fetched.append(words)
        return True

    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(environment, "output", lambda words: settings)
    monkeypatch.setattr(environment, "answers", answers)
    made.find_uv("uv==0.13.9")
    assert bool(made.uv) is bool(fetched) is found


def test_a_uv_on_the_path_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Recorded(tmp_path, [])
    monkeypatch.setattr(shutil, "which", lambda name: "/somewhere/uv")
    made.find_uv("uv==0.13.9")
    assert made.uv == "/somewhere/uv"


def test_pip_is_used_where_uv_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Recorded(tmp_path, [])
    made.uv = "uv"

    def fail(words: list[str]) -> None:
        raise SetupError("no network")

    monkeypatch.setattr(made, "install_by_uv", fail)
    made.install(["--no-deps", "rich==15.0.0"])
    assert made.installs == [["pip", "--no-deps", "rich==15.0.0"]]
    assert "pip tries" in capsys.readouterr().out


def test_what_cannot_be_had_is_named_and_the_rest_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Recorded(tmp_path, [])
    note = made.install_by_pip

    def install_by_pip(words: list[str]) -> None:
        if "moto==5.2.5" in words:
            raise SetupError("no such package")
        note(words)

    monkeypatch.setattr(made, "install_by_pip", install_by_pip)
    environment.install_optional(made, ["lxml==6.1.3", "moto==5.2.5"])
    assert made.installs == [["pip", "--no-deps", "lxml==6.1.3"]]
    assert "notice: no moto==5.2.5" in capsys.readouterr().out
