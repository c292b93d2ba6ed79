"""The constraints of program (2), and the operators of its solver."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from inweights.errors import ConfigError, DataError
from inweights.theory import Program
from inweights.theory.programs.large_scale.pieces import largest_of_gram
from inweights.theory.programs.operators import MarginProjection, operator_norm, shrink
from inweights.theory.programs.splitting import Anderson
from inweights.worlds import Statements, TwoHop, Vocabulary, World
from inweights.worlds.arrays import Floats

VOCABULARY = Vocabulary({"entity": ["a", "b", "x", "y", "z"], "relation": ["r", "s"]})


def world(*facts: tuple[str, str], queries: tuple[tuple[str, str], ...] = ()) -> World:
    """Return a world of facts such as ``("a r", "x")``."""

    def ids(text: str) -> list[int]:
        return [VOCABULARY.id(word) for word in text.split()]

    def statements(rows: tuple[tuple[str, str], ...], role: str) -> Statements:
        made = Statements.build({})
        for prompt, answer in rows:
            made = made.joined(Statements.build({role: ([ids(prompt)], [ids(answer)])}))
        return made

    return World(
        "toy", VOCABULARY, statements(facts, "edge"), statements(queries, "composition")
    )


def test_constraints_are_those_of_the_definition() -> None:
    made = TwoHop(n=4, complexity=2, identity=True).build(seed=0)
    program = Program.of(made)
    templates = np.random.default_rng(0).normal(size=program.shape)
    least = program.least_margins(program.counts @ templates)
    inputs, outputs = made.inputs.tolist(), made.outputs.tolist()
    for i in range(len(made.facts)):
        logits = sum(templates[inputs.index(t)] for t in made.facts.prompt(i).tolist())
        right = outputs.index(int(made.facts.answer(i)[0]))
        by_hand = min(
            logits[right] - logits[k] for k in range(len(outputs)) if k != right
        )
        assert least[program.row[i]] == pytest.approx(by_hand)
    assert program.constraints == len(made.facts) * (len(outputs) - 1)


def test_a_token_that_occurs_twice_counts_twice() -> None:
    program = Program.of(world(("a a r", "x"), ("b r", "y")))
    assert program.counts.toarray()[0].tolist() == [2.0, 0.0, 1.0]


def test_the_same_fact_twice_is_one_constraint() -> None:
    program = Program.of(world(("a r", "x"), ("b r", "y"), ("a r", "x")))
    assert program.row.tolist() == [0, 1, 0]
    assert program.right.shape[0] == 2


def test_several_answers_do_not_compete() -> None:
    program = Program.of(
        world(("a r", "x"), ("a r", "y"), ("b r", "z")), answers="several"
    )
    assert program.right.tolist() == [[True, True, False], [False, False, True]]
    assert program.constraints == 2 + 2


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        (
            (("a r", "x"), ("b r", "z"), ("a r", "y")),
            r"0 \(a r\) → x and 2 \(a r\) → y contradict",
        ),
        (
            (("a r", "x"), ("r a", "y")),
            r"0 \(a r\) → x and 1 \(r a\) → y have different answers, but their prompts differ",
        ),
        ((("a r", "x"), ("b r", "x y")), r"fact 1 \(role 'edge'\) has an answer of 2"),
        ((("a r", "x"), ("b r", "x")), "no constraints"),
    ],
)
def test_facts_that_cannot_be(facts: tuple[tuple[str, str], ...], names: str) -> None:
    with pytest.raises(DataError, match=names):
        Program.of(world(*facts))


def test_order_contradicts_even_where_several_answers_are_right() -> None:
    with pytest.raises(DataError, match="cannot distinguish"):
        Program.of(world(("a r", "x"), ("r a", "y"), ("b r", "z")), answers="several")


def test_unknown_answers_name_the_choice() -> None:
    with pytest.raises(ConfigError, match=re.escape("one, several")):
        Program.of(world(("a r", "x"), ("b r", "y")), answers="many")  # type: ignore[arg-type]


@given(
    st.integers(0, 10**6), st.integers(2, 9), st.integers(2, 9), st.floats(0.01, 3.0)
)
def test_shrink_is_the_proximal_map(
    seed: int, rows: int, columns: int, by: float
) -> None:
    matrix = np.random.default_rng(seed).normal(size=(rows, columns))
    u, s, v = np.linalg.svd(matrix, full_matrices=False)
    small, values = shrink(matrix, by)
    np.testing.assert_allclose(small, (u * np.maximum(s - by, 0)) @ v, atol=1e-6)
    assert values.sum() == pytest.approx(np.maximum(s - by, 0).sum(), abs=1e-6)
    assert operator_norm(matrix) == pytest.approx(s[0])


@given(st.integers(0, 10**6), st.booleans())
def test_projection_is_nearest(seed: int, several: bool) -> None:
    """The projection is feasible and satisfies the variational inequality of the nearest point."""
    facts = (("a r", "x"), ("b r", "y"), ("a s", "z"), ("b s", "z"))
    extra = (("a r", "y"), ("b s", "x")) if several else ()
    program = Program.of(world(*facts, *extra), answers="several")
    rng = np.random.default_rng(seed)
    project = MarginProjection(program)
    for _ in range(3):  # later projections start from the levels of earlier ones
        given_ = rng.normal(size=program.right.shape) * 2
        near = project(given_)
        assert program.least_margins(near).min() >= 1 - 1e-9
        for _ in range(20):
            other = rng.normal(size=near.shape) * 2
            other += np.where(program.right, 9.0, 0.0)
            assert np.sum((given_ - near) * (other - near)) <= 1e-9


def test_anderson_undoes_a_step_that_makes_things_worse() -> None:
    speed = Anderson(memory=2, growth=2.0)
    x = np.zeros(2)
    for residual in ([1.0, 0.0], [0.5, 0.1], [0.2, 0.3]):
        x = speed.step(x, np.array(residual))
    plain = speed._plain
    assert plain is not None  # the last step was accelerated
    back = speed.step(x, np.array([50.0, 50.0]))
    np.testing.assert_array_equal(back, plain[1])


def test_anderson_without_memory_is_the_plain_iteration() -> None:
    x, f = np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])
    np.testing.assert_array_equal(Anderson(memory=0).step(x, f), x + f)


@pytest.mark.parametrize("converges", [True, False])
@pytest.mark.parametrize("size", [1, 4, 9])
def test_the_largest_of_a_gram_matrix_are_those_of_all(
    monkeypatch: pytest.MonkeyPatch, converges: bool, size: int
) -> None:
    """This also holds if the partial search does not converge, as for equal eigenvalues."""
    whole = linalg.eigh

    def eigh(matrix: Floats, **options: Any) -> tuple[Floats, Floats]:
        if not converges and "subset_by_index" in options:
            raise linalg.LinAlgError("2 eigenvectors failed to converge.")
        return whole(matrix, **options)

    monkeypatch.setattr(linalg, "eigh", eigh)
    matrix = np.random.default_rng(size).normal(size=(2 * size, size))
    gram = matrix.T @ matrix
    values, vectors = largest_of_gram(gram, 4)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(gram)[-4:], rtol=1e-9)
    np.testing.assert_allclose(gram @ vectors, vectors * values, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-9)
