"""``make test-cpus``: run numerical tests with several instruction sets, kernels and threads.

Each setting is one run of pytest with variables that the libraries read when they are
loaded. The processes that run the tests write what the libraries use, which is compared
with the setting: a setting that the libraries here do not adopt is reported, and counts
as a failure.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

#: Tests of floating-point numbers.
FOLDERS = (
    *(
        f"tests/{room}"
        for room in ("training", "models", "probes", "theory", "experiments", "lm")
    ),
    "tests/test_golden.py",
    "tests/docs/test_pages.py",
)
#: Kernels of OpenBLAS that nearly every processor of an architecture can run. Those that
#: the processor does not use by default are tried.
KERNELS = {"x86_64": ("Nehalem", "Haswell"), "aarch64": ("ARMV8", "NEOVERSEN1")}
#: Variables that the libraries read; values from outside are removed.
READ = (
    "ATEN_CPU_CAPABILITY",
    "OPENBLAS_CORETYPE",
    "MKL_CBWR",
    "ONEDNN_MAX_CPU_ISA",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
)


@dataclass(frozen=True)
class Setting:
    """Variables, and the name and a pattern of the fact that they should lead to."""

    variables: dict[str, str]
    fact: str
    pattern: str

    def __str__(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.variables.items())


def settings(machine: str, kernels: str) -> list[Setting]:
    """Return the settings to try on an architecture with these default OpenBLAS kernels."""
    others = [k for k in KERNELS.get(machine, ()) if k not in kernels]
    found = [Setting({"OMP_NUM_THREADS": str(n)}, "threads", f"{n}$") for n in (1, 2)]
    found.append(Setting({"ATEN_CPU_CAPABILITY": "default"}, "torch", "DEFAULT|NO AVX"))
    found += [
        Setting({"OPENBLAS_CORETYPE": other}, "openblas", f"{other}( {other})*$")
        for other in others
    ]
    if machine == "x86_64":
        found += [
            Setting({"ATEN_CPU_CAPABILITY": "avx2"}, "torch", "AVX2"),
            Setting({"MKL_CBWR": "COMPATIBLE"}, "mkl", "CNR:COMPATIBLE"),
            Setting({"ONEDNN_MAX_CPU_ISA": "SSE41"}, "onednn", r"isa:.*SSE4\.1"),
        ]
    return found


def facts() -> dict[str, str]:
    """Return the threads, instruction sets and kernels that the libraries use here."""
    import numpy as np  # noqa: F401 (with its BLAS)
    import scipy.linalg  # noqa: F401 (with another)
    import torch
    from threadpoolctl import threadpool_info

    blas = [
        one["architecture"]
        for one in threadpool_info()
        if one["internal_api"] == "openblas"
    ]
    with tempfile.TemporaryFile() as file:  # C libraries write to the descriptor
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            with torch.backends.mkl.verbose(1), torch.backends.mkldnn.verbose(1):
                torch.ones(64, 64) @ torch.ones(64, 64)
                if torch.backends.mkldnn.is_available():
                    torch.ones(64, 64).to_mkldnn()
            ctypes.CDLL(None).fflush(None)
        finally:
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        told = file.read().decode(errors="replace")
    return {
        "threads": str(torch.get_num_threads()),
        "torch": torch.backends.cpu.get_cpu_capability(),
        "openblas": " ".join(blas),
        "mkl": (re.search(r"CNR:\S+", told) or ["none"])[0],
        "onednn": (re.search(r"isa:.*", told) or ["none"])[0],
    }


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option with the folder to which processes of pytest write their facts."""
    parser.addoption(
        "--facts", type=Path, help="a folder; each process writes a file into it"
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the facts of a process, unless it only distributes tests to others."""
    if hasattr(session.config, "workerinput") or not session.config.getoption(
        "numprocesses", None
    ):
        with session.config.pluginmanager.getplugin(
            "capturemanager"
        ).global_and_fixture_disabled():
            text = json.dumps(facts())
        (session.config.getoption("--facts") / f"{os.getpid()}.json").write_text(text)


def run(setting: Setting, words: list[str]) -> bool:
    """Run the tests with a setting, print a line, and return whether they passed with it."""
    outside = {name: value for name, value in os.environ.items() if name not in READ}
    environment = outside | {"OMP_NUM_THREADS": "1"} | setting.variables
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "tests.house.cpus",
            "--facts",
            folder,
        ]
        done = subprocess.run(
            command + words, env=environment, capture_output=True, text=True
        )
        told = [json.loads(file.read_text()) for file in Path(folder).iterdir()]
    found = sorted({one[setting.fact] for one in told})
    took = bool(found) and all(re.match(setting.pattern, one) for one in found)
    last = (
        done.stdout.strip().splitlines() or done.stderr.strip().splitlines() or [""]
    )[-1]
    state = "failed" if done.returncode else "ok" if took else "not taken"
    print(
        f"{state:9} {setting}: {last}; {setting.fact} says {', '.join(found) or 'nothing'}"
    )
    for line in done.stdout.splitlines() if done.returncode else ():
        if line.startswith(("FAILED", "ERROR", "E  ")):
            print(f"  {line}")
    sys.stdout.flush()
    return not done.returncode and took


def main() -> int:
    """Run every setting; return 1 if a test fails or a setting has no effect."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="settings with this in their name")
    parser.add_argument(
        "words", nargs="*", help="for pytest, in place of folders and tier"
    )
    given = parser.parse_args()
    words = given.words or [
        *FOLDERS,
        "-n",
        "auto",
        "-m",
        "not slow and not gpu and not network",
    ]
    machine = platform.machine()
    plain = {name: value for name, value in os.environ.items() if name not in READ}
    code = [
        sys.executable,
        "-c",
        "import tests.house.cpus as c; print(c.facts()['openblas'])",
    ]
    done = subprocess.run(code, env=plain, capture_output=True, text=True)
    print(
        f"{machine}, {os.cpu_count()} cores, kernels of OpenBLAS: {done.stdout.strip()}"
    )
    chosen = [one for one in settings(machine, done.stdout) if given.only in str(one)]
    return int(False in [run(one, words) for one in chosen])


if __name__ == "__main__":
    sys.exit(main())
