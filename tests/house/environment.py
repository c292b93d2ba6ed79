"""Set up the project's environment from the pins of ``constraints.txt``.

``make`` runs this first. ``python -m tests.house.environment dev`` installs the parts of
a stage with ``--no-deps``, so that nothing is resolved, and prints the time and size of
each. It needs only Python. ``uv`` is used if it is installed or can be, otherwise pip. A
CUDA build of torch is only installed for an NVIDIA GPU or on request.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINS = ROOT / "constraints.txt"
OLDEST = (3, 11)
#: Parts of the pins that a stage installs. Each stage includes the one before it.
STAGES = {
    "demo": ("demo",),
    "docs": ("demo", "docs"),
    "dev": ("demo", "docs", "dev", "optional"),
}
#: Name that stands for torch alone instead of a stage, for an environment into which a
#: release is installed next.
TORCH_ALONE = "torch"
#: A line is printed at least this often, so that a long download does not look as if it
#: hangs.
SECONDS_BETWEEN_LINES = 10
CUDA_REFUSED = """\
torch {version} for CPUs was not found: pip would take the build for NVIDIA GPUs (about 3 GB), and
this machine has no such GPU. Give pip the address that PyTorch's page "Get started" shows for CPU
('--index-url ADDRESS'), as in
    PIP_EXTRA_INDEX_URL=ADDRESS make demo
or put the file of a CPU build into a folder, PIP_FIND_LINKS=FOLDER make demo; or take the large
build: make CUDA=1 demo"""


class SetupError(Exception):
    """An environment could not be set up; the message says why and what to do."""


def read_pins(path: Path = PINS) -> dict[str, list[str]]:
    """Return the requirements of each part of the pins; a part starts with ``# [name]``."""
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        heading = re.match(r"# \[(\w+)\]", line)
        if heading:
            lines = parts.setdefault(heading[1], [])
        elif line and not line.startswith("#"):
            lines.append(line)
    return parts


def name_of(pin: str) -> str:
    """Return the package name of a requirement."""
    return re.split(r"[=<>!~; \[]", pin)[0]


def has_nvidia_gpu() -> bool:
    """Return whether the driver of an NVIDIA GPU is installed."""
    return Path("/proc/driver/nvidia/version").exists() or bool(
        shutil.which("nvidia-smi")
    )


class Environment:
    """A virtual environment that packages are installed into, by uv or by pip.

    Args:
        folder: Its folder, which need not exist yet.
        made_by: The Python that creates it; by default the one that runs this program.
    """

    def __init__(self, folder: Path, made_by: str = sys.executable) -> None:
        self.folder = folder
        self.made_by = made_by
        self.bin = folder / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.bin / ("python.exe" if os.name == "nt" else "python")
        self.uv = ""

    def make(self) -> None:
        """Create the environment unless it exists."""
        if self.python.exists() and answers([*self.pip, "--version"]):
            return
        try:
            call([self.made_by, "-m", "venv", str(self.folder)])
        except SetupError:
            uv = shutil.which("uv")
            if not uv:
                raise
            call(
                [
                    uv,
                    "venv",
                    "--seed",
                    "--clear",
                    "--python",
                    self.made_by,
                    str(self.folder),
                ]
            )

    def find_uv(self, pin: str) -> None:
        """Find uv on the path, or install it if pip uses the public index.

        If pip is configured for another index, this may be the only one within reach,
        and uv does not read the configuration of pip.
        """
        self.uv = shutil.which("uv") or ""
        if self.uv:
            return
        settings = output([*self.pip, "config", "list"])
        if "index-url=" in re.sub(
            r"extra-index-url=", "", settings.replace("_", "-").lower()
        ):
            return
        if answers([*self.pip, "install", "--quiet", "--no-deps", pin]):
            self.uv = str(self.bin / "uv")

    @property
    def pip(self) -> list[str]:
        """Command that starts pip."""
        return [
            str(self.python),
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--no-input",
        ]

    def install(self, words: list[str]) -> None:
        """Install with uv, or with pip if there is no uv or it fails."""
        if self.uv:
            try:
                self.install_by_uv(words)
            except SetupError as error:
                print(f"{error}\n  uv could not; pip tries", flush=True)
            else:
                return
        self.install_by_pip(words)

    def install_by_pip(self, words: list[str]) -> None:
        """Install with pip without compiling, as most modules are never imported."""
        call([*self.pip, "install", "--quiet", "--no-compile", *words])

    def install_by_uv(self, words: list[str]) -> None:
        """Install with uv, without its cache if the home folder cannot be written."""
        cache = [] if os.access(Path.home(), os.W_OK) else ["--no-cache"]
        start = [
            self.uv,
            "pip",
            "install",
            "--quiet",
            "--python",
            str(self.python),
            *cache,
        ]
        call([*start, *words], UV_HTTP_RETRIES="1")

    def install_torch(self, pin: str, cuda: bool) -> str:
        """Install torch, with CUDA only if there is a GPU or ``cuda`` is true.

        A dry run of pip first tells which build it would install, as its configured
        folder or index may have the CPU build.

        Returns:
            Which build was installed, in words.

        Raises:
            SetupError: Only a build for GPUs is within reach.
        """
        if pin.partition("==")[2] == self.installed("torch"):
            return "is there"
        large = takes_cuda(self.dry_run(pin))
        if large and (cuda or has_nvidia_gpu()):
            self.install(["-c", str(PINS), pin])
            return "CUDA build"
        if not large:
            self.install_by_pip(["--no-deps", pin])
            return "CPU build"
        if self.uv:
            try:
                self.install_by_uv(["--no-deps", "--torch-backend", "cpu", pin])
            except SetupError:
                pass
            else:
                return "CPU build"
        raise SetupError(CUDA_REFUSED.format(version=pin.partition("==")[2]))

    def dry_run(self, pin: str) -> list[str]:
        """Return the requirements of the file that pip would install for a pin."""
        dry = ["install", "--quiet", "--no-deps", "--dry-run", "--report", "-", pin]
        install = json.loads(output([*self.pip, *dry]))["install"]
        return install[0]["metadata"].get("requires_dist", []) if install else []

    def installed(self, name: str) -> str:
        """Return the version of a package without its build, or an empty string."""
        program = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
        words = [str(self.python), "-c", program, name]
        found = subprocess.run(words, capture_output=True, text=True)
        return found.stdout.strip().partition("+")[0]

    def megabytes(self) -> int:
        """Return the size of all files of the environment in megabytes."""
        files = (
            Path(place) / name
            for place, _, names in os.walk(self.folder)
            for name in names
        )
        return sum(file.lstat().st_size for file in files) // 10**6


def takes_cuda(requirements: list[str]) -> bool:
    """Return whether a file with these requirements is a build for NVIDIA GPUs on Linux."""
    return sys.platform == "linux" and any(
        re.match(r"nvidia-|cuda-|triton", requirement) for requirement in requirements
    )


def call(words: list[str], cwd: Path = ROOT, **variables: str) -> None:
    """Run a command with lines of progress; raise an error with its output if it fails."""
    started = time.monotonic()
    process = subprocess.Popen(
        words,
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while True:
        try:
            said, _ = process.communicate(timeout=SECONDS_BETWEEN_LINES)
            break
        except subprocess.TimeoutExpired:
            print(f"  … {time.monotonic() - started:.0f} s", flush=True)
    if process.returncode:
        raise SetupError(
            f"{Path(words[0]).name} failed:\n" + "\n".join(said.splitlines()[-15:])
        )


def output(words: list[str]) -> str:
    """Return the output of a command; raise an error if it fails."""
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(done.stderr.strip() or f"{words[0]} failed")
    return done.stdout


def answers(words: list[str]) -> bool:
    """Return whether a command succeeds."""
    return subprocess.run(words, cwd=ROOT, capture_output=True).returncode == 0


def set_up(environment: Environment, stage: str, cuda: bool = False) -> None:
    """Install a stage and print the seconds and megabytes of its parts.

    Args:
        environment: The environment, which is created if it does not exist.
        stage: A name of :data:`STAGES`, or :data:`TORCH_ALONE`.
        cuda: Install the CUDA build of torch even if there is no NVIDIA GPU.
    """
    pins = read_pins()
    first = {name_of(pin): pin for pin in pins["demo"]}
    began = last = time.monotonic()
    size = environment.megabytes()

    def done(what: str) -> None:
        nonlocal last, size
        now, held = time.monotonic(), environment.megabytes()
        print(f"  {what}: {now - last:.0f} s, {max(held - size, 0)} MB", flush=True)
        last, size = time.monotonic(), held

    print(
        f"setting up {environment.folder.name} with {environment.made_by} (minutes, once)"
    )
    sys.stdout.flush()
    environment.make()
    environment.find_uv(first["uv"])
    done("environment, installed by " + ("uv" if environment.uv else "pip"))
    build = environment.install_torch(first["torch"], cuda)
    done(f"torch, {build}")
    if stage == TORCH_ALONE:
        return
    for part in STAGES[stage]:
        if part == "optional":
            install_optional(environment, pins[part])
        else:
            environment.install(["--no-deps", *without_torch(pins[part])])
        done(f"{part}, {len(pins[part])} packages")
    environment.install(["--no-deps", "--no-build-isolation", "-e", "."])
    done("inweights")
    print(f"  in all: {time.monotonic() - began:.0f} s, {size} MB", flush=True)


def without_torch(pins: list[str]) -> list[str]:
    """Return pins without torch and uv, which are installed before the other packages."""
    return [pin for pin in pins if name_of(pin) not in ("torch", "uv")]


def install_optional(environment: Environment, pins: list[str]) -> None:
    """Install packages that only some tests need; print which cannot be installed."""
    try:
        environment.install(["--no-deps", *pins])
    except SetupError:
        for pin in pins:
            try:
                environment.install(["--no-deps", pin])
            except SetupError:
                print(f"  notice: no {pin}; its tests will skip", flush=True)


def main() -> int:
    """Set up a stage; return 1 if this fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stage", choices=(*STAGES, TORCH_ALONE))
    parser.add_argument("--folder", type=Path, default=Path(".venv"))
    parser.add_argument(
        "--cuda", action="store_true", help="take torch's build for NVIDIA GPUs"
    )
    given = parser.parse_args()
    if sys.version_info < OLDEST:
        version = sys.version.split()[0]
        print(
            f"Python 3.11 or newer is needed, not {version}; make PYTHON=<path> takes another"
        )
        return 1
    try:
        set_up(Environment(ROOT / given.folder), given.stage, given.cuda)
    except SetupError as error:
        print(f"{given.folder} could not be set up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
