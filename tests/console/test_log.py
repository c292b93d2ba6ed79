"""The log is off by default, and is written to the error stream or a file on request."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from inweights.cli import main

RUN = ["run", "two-hop", "--scale", "smoke", "--set", "models=emb-mlp", "--json"]


@pytest.mark.slow
def test_a_run_is_quiet_by_default(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*RUN, "--runs", str(tmp_path)]) == 0
    assert "inweights.training" not in capsys.readouterr().err


@pytest.mark.slow
def test_verbose_and_a_file_show_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "log.txt"
    where = ["--runs", str(tmp_path), "--fresh"]
    assert main([*RUN, *where, "--verbose", f"--log-file={file}"]) == 0
    said, written = capsys.readouterr().err, file.read_text("utf-8")
    assert "INFO inweights.training: demo/two-hop: started" in said
    assert "INFO inweights.training: demo/two-hop: finished" in said
    assert "DEBUG" not in said
    assert "DEBUG inweights.tasks" in written
    log = logging.getLogger("inweights")
    assert all(isinstance(one, logging.NullHandler) for one in log.handlers)
    assert log.level == logging.NOTSET


def test_a_log_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["list", "--log-file", "/no/such/folder/log"]) == 2
    assert "cannot write the log to '/no/such/folder/log'" in capsys.readouterr().err
