"""``py.typed``: mypy sees the library's types in a user's own file, wrapped models included."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILE = """
import inweights as iw
from torch import Tensor, nn


class Mine(nn.Module):
    def __init__(self, vocabulary: int, width: int = 8) -> None:
        super().__init__()
        self.table = nn.Embedding(vocabulary, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        out: Tensor = self.table(tokens)
        return out


world = iw.TwoHop(n=3).build()
config = iw.wrap(Mine, width=8)
model = config.build(vocabulary=len(world.vocabulary), seeds=[0, 1])
reveal_type(config)
reveal_type(model)
result = iw.train(model, world, iw.Curriculum(), seeds=[0, 1])
reveal_type(result.losses)
reveal_type(iw.probes.accuracy(model, world))
reveal_type(iw.load("two-hop/gpt").model)
reveal_type(iw.to_dict(config))
iw.TwoHop(n="three")
"""
REVEALED = (
    "inweights.models.outside.wrapping.WrapConfig",
    "inweights.models.outside.wrapped.Wrapped",
    "DataFrame",
    "DataFrame",
    "inweights.models.base.Model",
    "dict[str, Any]",
)


@pytest.mark.slow
def test_a_users_file_is_checked_against_our_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="pip install mypy lifts this")
    file, root = tmp_path / "mine.py", Path(__file__).parents[1]
    file.write_text(FILE)
    # Our settings are strict, too. With others `make check` would have read torch in vain.
    command = [sys.executable, "-m", "mypy", str(file)]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    revealed = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == len(REVEALED), done.stdout
    for line, kind in zip(revealed, REVEALED, strict=True):
        assert kind in line
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1, done.stdout
    assert "TwoHop" in errors[0]
    assert (root / "src/inweights/py.typed").exists()
