"""A signal stops a command with one line, and the command can be repeated."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from tests.console.calls import call
from tests.waiting import ended, wait_until

from inweights.errors import ConfigError


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_other_signals_stop_a_command_as_ctrl_c_does(
    capsys, monkeypatch, signals, name
) -> None:
    number = getattr(signal, name)

    def stopped(*_: object) -> None:
        signal.raise_signal(number)
        raise ConfigError("it went on")

    monkeypatch.setattr("inweights.worlds.open_world", stopped)
    assert call(capsys, "world", "two-hop") == (
        1,
        "",
        "inweights: interrupted; repeat the command: stored results are not computed again\n",
    )
    assert signal.getsignal(number) is signal.SIG_DFL
    before = signal.signal(number, signal.SIG_IGN)  # as nohup does
    try:
        assert call(capsys, "world", "two-hop")[2] == "inweights: it went on\n"
        assert signal.getsignal(number) is signal.SIG_IGN
    finally:
        signal.signal(number, before)


@pytest.mark.slow
def test_ctrl_c_is_one_line_and_resumes(runs) -> None:
    words = [
        sys.executable,
        "-m",
        "inweights",
        "run",
        "demo/two-hop",
        "--scale",
        "smoke",
        "--set",
        "gpt.phase.steps=3000",
    ]
    process = subprocess.Popen(
        words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    wait_until(lambda: list(runs.glob("store/*/*/*.parquet")), unless=ended(process))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 1
    assert "repeat the command" in err
    assert "Traceback" not in err
    assert not any(path.suffix != ".work" for path in runs.glob("demo/two-hop/*"))
