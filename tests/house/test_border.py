"""Public functions raise the library's own errors for invalid arguments of any kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from inweights.errors import ConfigError, DataError
from inweights.support.border import at_the_border, guarded

ROOT = Path(__file__).parents[2]


def test_public_functions_name_what_does_not_fit() -> None:
    """Calls run in a new process, as the tests' own process checks annotated shapes."""
    assert calls_of("few") > 500


@pytest.mark.slow
def test_more_public_functions_name_what_does_not_fit() -> None:
    """This calls every third function with wrong arguments, every tenth with a single one.

    ``make fuzz`` calls all functions.
    """
    assert calls_of("third", "one-of-few") > 2_000


def calls_of(*walks: str) -> int:
    """Call functions in a new process; check that no call was wrong, return their number."""
    command = [sys.executable, "-m", "tests.house.border", *walks]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.split()[-6])


@guarded
def shares(counts: list[int], *, of: int) -> list[float]:
    """Return counts as shares."""
    return [count / of for count in counts]


def test_the_argument_that_does_not_fit_is_named() -> None:
    """Functions of the tests count as a user's own, so that the library's are called."""
    import inweights as iw

    assert shares([1, 2], of=2) == [0.5, 1.0]
    assert shares.__name__ == "shares"
    with pytest.raises(
        DataError, match="bridge_pairs got world = None, expected World"
    ) as raised:
        iw.probes.bridge_pairs(None, "query")  # type: ignore[arg-type]
    assert isinstance(raised.value.__cause__, AttributeError)
    with pytest.raises(
        DataError, match=r"Vocabulary got groups = None, expected Mapping"
    ):
        iw.Vocabulary(None)  # type: ignore[arg-type]


def test_what_is_not_about_an_argument_stays_as_it_is() -> None:
    import inweights as iw

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        iw.probes.accuracy(None)  # type: ignore[call-arg,arg-type]
    model = iw.EmbMLPConfig(width=4).build(vocabulary=30, seeds=[0])
    with pytest.raises(ConfigError, match="unknown layer"):
        iw.probes.alignment(model, iw.TwoHop(n=3).build(), layers=["no"])
    with pytest.raises(ZeroDivisionError):  # the function counts as a user's own
        shares([1], of=0)
    assert at_the_border(iw.World) is iw.World
    assert iw.probes.accuracy is at_the_border(iw.probes.accuracy.__wrapped__)  # type: ignore[attr-defined]
