"""The list of commands and the description of the demonstration are printed quickly."""

from __future__ import annotations

import re
import subprocess
import sys
from queue import Queue

import pytest

from inweights import actions
from inweights.cli import main
from inweights.cli.commands import complete_app
from inweights.cli.console.live.steady import steady_log
from inweights.cli.overview import COMMANDS, GROUPS, overview
from inweights.errors import ConfigError

PROGRAM = """
import sys
before = set(sys.modules)
from inweights.cli import main
assert main({words}) == 0
print("modules:", *set(sys.modules) - before, sep="\\n")
"""


def imported_by(*words: str) -> set[str]:
    """Return the modules that a command imports in a new process."""
    program = [sys.executable, "-c", PROGRAM.format(words=list(words))]
    done = subprocess.run(program, capture_output=True, text=True, check=True)
    return set(done.stdout.partition("\nmodules:\n")[2].splitlines())


def test_the_list_of_commands_imports_few_modules() -> None:
    found = imported_by("--help")
    assert not {name for name in found if name.startswith("inweights.cli.commands")}
    assert not found & {"cyclopts", "rich", "numpy", "msgspec", "inweights.config"}
    assert len(found) < 100  # 58 on Python 3.11; 403 when it imported each command


def test_a_command_imports_its_own_file() -> None:
    found = imported_by("cite", "--help")
    assert f"inweights.cli.commands.{COMMANDS['cite'].file}" in found
    assert "inweights.cli.commands.language" not in found


@pytest.mark.parametrize("width", [20, 50, 80, 120])
def test_the_list_fits_its_width(width: int) -> None:
    lines = overview(width).splitlines()
    commands = [line for line in lines if line.startswith("  inweights ")]
    assert max(len(line) for line in lines if line not in commands) <= max(width, 40)
    assert len(commands) == 6
    assert {line.split()[1] for line in commands} <= set(COMMANDS)


def test_each_command_is_listed_once_with_its_file() -> None:
    app = complete_app()
    assert {name for name in app if not name.startswith("-")} == set(COMMANDS)
    assert sum(map(len, GROUPS.values())) == len(COMMANDS)
    for name, (file, summary) in COMMANDS.items():
        assert len(summary) < 60, name  # fits on a line of 80 characters
        command = app[name]
        while command.default_command is None:  # a group of commands
            command = command[
                next(word for word in command if not word.startswith("-"))
            ]
        assert command.default_command.__module__ == f"inweights.cli.commands.{file}", (
            name
        )


def test_no_word_is_a_request_for_help(capsys) -> None:
    assert main([]) == 0
    without = capsys.readouterr().out
    assert main(["-h"]) == 0
    assert capsys.readouterr().out == without != ""


@pytest.mark.slow
def test_help_has_no_markup_of_docstrings(capsys) -> None:
    """Descriptions of options come from docstrings, whose roles are removed in a terminal."""
    for name in COMMANDS:
        main([name, "--help"])
        assert not re.search(r":[a-z]+:`?[\w.~]+", capsys.readouterr().out), name


def test_the_demonstration_says_what_it_does_before_it_loads_torch(
    monkeypatch, capsys
) -> None:
    written = []

    def run(*_: object, **__: object) -> None:
        written.append(capsys.readouterr().err)
        raise ConfigError("stopped here")

    monkeypatch.setattr(actions, "run", run, raising=False)
    assert main(["demo"]) == 2
    assert "Small models are trained" in written[0]
    assert "about a minute" in written[0]


def test_nothing_heavy_is_imported_before_it_is_said() -> None:
    found = imported_by("demo", "--help")
    assert not found & {"torch", "numpy", "scipy", "matplotlib", "polars"}


def test_a_log_goes_on_while_the_work_says_nothing() -> None:
    lines = Queue[str]()
    with steady_log(lines.put, pause=0.001) as report:
        assert "loading PyTorch" in lines.get()
        report(1, 4, "8 × gpt")
        while "8 × gpt" not in (line := lines.get()):
            pass
        assert line.startswith(" 25%  8 × gpt, ")
        assert "8 × gpt" in lines.get()  # the line is repeated without a new report
