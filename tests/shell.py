"""Run lines in a shell, in which ``inweights`` is this library's command.

The shell parses the line as a user's shell does: strings, lists and redirections. The
program that it starts in place of ``inweights`` records its arguments. After the shell has
ended, each command is run in a forked process (``tests/forks.py``), so that torch is
imported once.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from tests.forks import Forks

from inweights.cli import main

#: Modules that commands need, imported before forking.
__all__ = ["Shell", "plt", "torch"]

#: Program that records its folder and arguments; it needs only Python.
_NOTES = """\
#!{python} -SE
import json, os, sys
with open({file!r}, "a") as file:
    print(json.dumps([os.getcwd(), *sys.argv[1:]]), file=file)
"""


class Shell:
    """A shell in a folder.

    Args:
        forks: The server of processes.
        folder: Working folder of the shell. The program ``bin/inweights``, which the
            shell finds first, is written there.
        name: The program, ``bash`` or ``sh``.
    """

    def __init__(self, forks: Forks, folder: Path, name: str = "bash") -> None:
        found = shutil.which(name)
        if found is None:
            pytest.skip(f"needs {name}")
        self._forks, self._folder, self._program = forks, folder, found
        self._noted = folder / "bin" / "noted"
        command = folder / "bin" / "inweights"
        command.parent.mkdir()
        command.write_text(_NOTES.format(python=sys.executable, file=str(self._noted)))
        command.chmod(0o755)

    def run(self, line: str, variables: Mapping[str, str] | None = None) -> str:
        """Run a line in the shell, run its commands, and return their output.

        Args:
            line: One or more lines; a line that fails ends them.
            variables: Added to the environment of the commands.
        """
        self._noted.write_text("")
        path = f"{self._noted.parent}{os.pathsep}{os.environ['PATH']}"
        pasted = subprocess.run(
            [self._program, "-ec", line],
            cwd=self._folder,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
        )
        assert pasted.returncode == 0, (line, pasted.stderr)
        printed = pasted.stdout
        for noted in self._noted.read_text().splitlines():
            given = json.dumps(variables or {})
            child = self._forks.start("tests.shell:command", given, *json.loads(noted))
            assert child.wait() == 0, (line, child.output)
            printed += child.output
        return printed


def command(variables: str, folder: str, *words: str) -> None:
    """Run a command in this forked process."""
    os.environ.update(json.loads(variables))
    os.chdir(folder)
    assert main(list(words)) == 0


def script(folder: str, file: str) -> None:
    """Run a Python script in a folder, with warnings turned into errors."""
    warnings.simplefilter("error")
    # Scripts use few seeds and steps, so that these warnings are expected.
    for said in ("Accuracy on compositions varies", "Facts are not known"):
        warnings.filterwarnings("ignore", said)
    os.chdir(folder)
    runpy.run_path(file, run_name="__main__")


def tests_of(folder: str, *files: str) -> None:
    """Run test files in a folder outside the repository, and print which tests pass."""
    os.chdir(folder)
    assert pytest.main(["-q", "-rp", "-p", "no:cacheprovider", *files]) == 0
