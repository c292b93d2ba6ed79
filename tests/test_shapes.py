"""Signatures state the shapes of arrays, and tests check them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from tests.shapes import CALLS, ROOMS, SHAPED, ShapeError, checked

from inweights.errors import DataError
from inweights.models import GPTConfig, Linear
from inweights.theory.geometric_memory.graph import hop_distances
from inweights.training.steps.losses.cross_entropy import cross_entropy

if TYPE_CHECKING:
    from jaxtyping import Float

SOURCE = Path(__file__).parents[1] / "src" / "inweights"
FILES = sorted(path for room in ROOMS for path in (SOURCE / room).glob("*.py"))
ARRAYS = re.compile(r"\b(?:Tensor|NDArray|ndarray|Array|Floats|Reals|Bools|Ids)\b")
WITH_SHAPES = re.compile(SHAPED.pattern + r"[^'\"]*['\"][^'\"]*['\"]\]")
#: Functions that take arrays of any shape.
OF_ANY_SHAPE = {"fingerprint", "State"}


def test_a_wrong_shape_is_refused() -> None:
    states = torch.zeros(2, 3, 4)
    with pytest.raises(
        ShapeError, match=r"Linear.forward says x: .*R S D.* torch.float32 \(1, 2,"
    ):
        Linear(2, 4, 5)(states.unsqueeze(0))
    model = GPTConfig(layers=1, width=8).build(vocabulary=9, seeds=[0])
    with pytest.raises(DataError, match=r"expected token ids, which are integers"):
        model(torch.zeros(1, 2))


def test_a_letter_has_one_length_throughout_a_call() -> None:
    labels = torch.zeros(2, 3, dtype=torch.long)
    assert cross_entropy(torch.zeros(2, 3, 4), labels, torch.ones(3)).shape == (2,)
    with pytest.raises(ShapeError, match=r"weights: Float\[Tensor, '\*_ n'\]"):
        # Torch would broadcast it.
        cross_entropy(torch.zeros(2, 3, 4), labels, torch.ones(1))


def test_what_comes_back_is_checked_the_first_few_times() -> None:
    @checked
    def turned(x: Float[torch.Tensor, "N D"]) -> Float[torch.Tensor, "N D"]:
        return x.T

    for _ in range(CALLS):
        with pytest.raises(
            ShapeError, match=r"turned says return: .* return torch.float32"
        ):
            turned(torch.zeros(2, 3))
    assert turned(torch.zeros(2, 3)).shape == (3, 2)


def test_what_a_function_refuses_itself_it_may() -> None:
    with pytest.raises(DataError, match="square"):
        hop_distances(np.zeros((2, 3)))


def said_in(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Return the annotations of public functions and classes, by name."""
    for node in ast.iter_child_nodes(tree):
        name = getattr(node, "name", "")
        if name.startswith("_") and not name.startswith("__"):
            continue
        if isinstance(node, ast.ClassDef):
            yield from ((name, text) for _, text in said_in(node))
        elif isinstance(node, ast.FunctionDef):
            every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            said = [arg.annotation for arg in every] + [node.returns]
            yield from ((name, ast.unparse(one)) for one in said if one)
        elif isinstance(node, ast.AnnAssign) and isinstance(tree, ast.ClassDef):
            yield name, ast.unparse(node.annotation)


def test_public_signatures_say_the_shapes_of_arrays() -> None:
    bare = []
    for path in FILES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        bare += [
            f"{path.name}: {name}: {text}"
            for name, text in said_in(tree)
            if is_bare(text)
        ]
        imported = [
            node.module for node in tree.body if isinstance(node, ast.ImportFrom)
        ]
        assert "jaxtyping" not in imported, "inweights.worlds.arrays has its names"
    assert not [text for text in bare if text.split(": ")[1] not in OF_ANY_SHAPE]


def is_bare(annotation: str) -> bool:
    return bool(ARRAYS.search(WITH_SHAPES.sub("", annotation)))


def test_a_signature_without_a_shape_is_found() -> None:
    tree = ast.parse(
        "class A:\n    x: Tensor\n    def f(self, y: Int[Ids, ' N']) -> Ids: ..."
    )
    assert [text for _, text in said_in(tree) if is_bare(text)] == ["Tensor", "Ids"]
