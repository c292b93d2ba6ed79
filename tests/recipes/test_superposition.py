"""The example with its own board: its graphs, its model, and its stored results."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from tests.forks import Forks
from tests.recipes.tables import table, values

import inweights as iw
from inweights import recipes

ROOT = Path(__file__).parents[2]
HOME = "examples/superposition"


def _loaded() -> Any:
    """Import the example's module, and remove its recipe from the registry.

    The module imports from ``inweights.lab``, the package's former name. Its code is part
    of the hashes in its ledger, so the import must not be changed; it also shows that the
    former name works.
    """
    spec = importlib.util.spec_from_file_location(
        "frontier", ROOT / HOME / "frontier.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["frontier"] = importlib.util.module_from_spec(spec)
    with pytest.warns(DeprecationWarning, match=r"inweights\.lab is now called"):
        spec.loader.exec_module(module)
    del recipes._registered[module.recipe.name]
    return module


frontier = _loaded()
SMALL = frontier.Reachability(graphs=40, held_out=10)


def run(forks: Forks, *words: str, **folders: Path) -> str:
    """Run a command in a separate process in the checkout, and return its output."""
    env = {f"INWEIGHTS_{name.upper()}": str(path) for name, path in folders.items()}
    plugin = ("--plugin", f"{HOME}/frontier.py")
    done = forks.start("tests.shell:command", json.dumps(env), ROOT, *words, *plugin)
    assert done.wait() == 0, done.output
    return done.output


@pytest.mark.slow
def test_it_runs_from_outside_of_the_package(forks: Forks, tmp_path: Path) -> None:
    said = run(
        forks, "run", "superposition/frontier", "--scale", "smoke", runs=tmp_path
    )
    assert "none of them is judged" in " ".join(said.split())


@pytest.mark.slow
def test_its_board_is_what_its_ledger_and_scores_say(forks: Forks) -> None:
    board = run(
        forks, "verify", "superposition", "--from", f"{HOME}/results", "--markdown"
    )
    assert board == (ROOT / HOME / "board.md").read_text(encoding="utf-8")
    stated = json.loads(
        run(
            forks,
            "claims",
            "state",
            "--json",
            "superposition",
            "--results",
            f"{HOME}/results",
        )
    )
    assert stated == []  # all claims are in the ledger in their present form


def distances(edges: list[tuple[int, int]], root: int) -> dict[int, int]:
    """Return the distance of each node from the root in edges, by breadth-first search."""
    found, step = {root: 0}, 0
    while news := {t for s, t in edges if found.get(s) == step and t not in found}:
        step += 1
        found |= dict.fromkeys(news, step)
    return found


def test_one_candidate_is_reached_and_the_path_leads_there() -> None:
    drawn = SMALL.drawn(3, 40)
    firsts = set()
    for question, path, other, far in zip(*drawn.values(), strict=True):
        pairs = [tuple(pair) for pair in question.reshape(-1, 2).tolist()]
        edges, marked, (root, mark) = pairs[:12], dict(pairs[12:14]), pairs[14]
        assert set(marked.values()) == {SMALL.token("candidate")}
        assert mark == SMALL.token("root")
        found = distances(edges, root)
        assert set(marked) == {path[-1], other}
        assert [found[node] for node in path.tolist()] == [1, 2, 3]
        assert set(zip([root, *path.tolist()], path.tolist(), strict=False)) <= set(
            edges
        )
        assert int(other) not in found
        assert {
            node: steps for node, steps in enumerate(far.tolist()) if steps < 14
        } == found
        firsts.add(pairs[12][0] == path[-1])
    assert firsts == {True, False}


@pytest.mark.parametrize("between", ["nothing", "pause", "path", "thought"])
def test_facts_ask_for_one_step_more_each(between: Any) -> None:
    config = iw.config.replace_at(SMALL, {"between": between})
    world, path = config.build(seed=3), config.drawn(3, 40)["path"]
    steps = [] if between == "nothing" else ["step 1", "step 2", "step 3"]
    assert world.facts.role_names == (*steps, "answer")
    for i, role in enumerate(steps):
        prompts, answers = world.facts.matrix(world.facts.with_role(role))
        assert answers[:, 0].tolist() == path[:, i].tolist()
        told = (
            path[:, :i]
            if between == "path"
            else np.full((40, i), config.token(between))
        )
        assert prompts[:, 30:].tolist() == told.repeat(2, axis=1).tolist()
    prompts, answers = world.facts.matrix(world.facts.with_role("answer"))
    assert answers[:, 0].tolist() == path[:, -1].tolist()
    assert set(prompts[:, -1].tolist()) == {config.token("answer")}
    asked, _ = world.queries.matrix(world.queries.with_role("answer"))
    assert asked.shape == (10, prompts.shape[1])
    if between == "path":  # the model answers with its own
        assert (asked[:, 30:36] == config.token("collapsed")).all()


@pytest.fixture
def made() -> Any:
    torch.manual_seed(5)  # noqa: TID251
    return frontier.thinker(21).double()


def prompts(between: Any, count: int = 6) -> Any:
    return torch.from_numpy(SMALL.prompts(SMALL.drawn(3, count), between))


def test_a_thought_is_the_last_state_as_the_next_embedding(made: Any) -> None:
    ids = prompts("thought")
    told = made.first(ids[:, :30:2]) + made.second(ids[:, 1:30:2])
    states = [told]
    for _ in range(3):  # computed from scratch each time, without a cache
        states.append(made.passed(torch.cat(states, 1), [None, None])[0])
    asks = made.first(ids[:, -1:])
    state, _ = made.passed(torch.cat([*states, asks], 1), [None, None])
    expected = state[:, -1] @ made.first.weight.T
    assert torch.allclose(made(ids), expected)
    assert not torch.allclose(made(prompts("pause")), expected)
    assert torch.equal(
        made(ids[2:3])[0].round(decimals=9), made(ids)[2].round(decimals=9)
    )


def test_a_collapsed_thought_is_the_token_of_its_most_likely_node(made: Any) -> None:
    walked = np.zeros((6, 0), np.int64)
    for i in range(3):
        ids = SMALL.prompts(SMALL.drawn(3, 6), np.pad(walked, ((0, 0), (0, 3 - i))), i)
        said = made(torch.from_numpy(ids))[:, :14].argmax(-1)
        walked = np.concatenate([walked, said[:, None].numpy()], 1)
    assert torch.allclose(made(prompts("collapsed")), made(prompts(walked)))


def test_a_swapped_thought_is_that_of_the_sequence_before(made: Any) -> None:
    same = prompts("swapped", 1).repeat(2, 1)
    assert torch.allclose(made(same), made(prompts("thought", 1).repeat(2, 1)))
    assert not torch.allclose(made(prompts("swapped")), made(prompts("thought")))


class Knows:
    """A model whose logits are largest for near nodes of the same tree."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def __call__(self, batch: Any, at: Any) -> Any:
        far = torch.from_numpy(SMALL.drawn(3, 10, "queries")["distance"]).double()
        logits = torch.cat([self.scale * far, torch.full((10, 7), -99.0)], 1)
        return logits[None][:, : len(at)]


def test_inner_products_by_distance() -> None:
    found = frontier.held(Knows(-1.0), [SMALL.build(seed=3)])
    assert set(found["thought"]) == {1, 2, 3}
    assert set(values(found, "above", nodes="on the path")) == {(1.0,)}
    assert values(found, "thought product", nodes="others of the frontier") == [
        (1, -1.0),
        (2, -2.0),
        (3, -3.0),
    ]
    assert values(found, "product", nodes="earlier", thought=1) == [(0.0,)]
    assert values(found, "above", nodes="earlier", thought=3) == [(1.0,)]
    turned = frontier.held(Knows(1.0), [SMALL.build(seed=3)])
    assert set(values(turned, "above", nodes="on the path")) == {(0.0,)}


@pytest.mark.parametrize(("scale", "chosen"), [(-1.0, 1.0), (1.0, 0.0)])
def test_the_right_candidate_is_chosen(scale: float, chosen: float) -> None:
    found = frontier.answered(Knows(scale), [SMALL.build(seed=3)])
    assert found["fed"].to_list() == ["thought", "collapsed", "swapped"]
    assert set(found["chosen"]) == {chosen}
    # The root or a node of the other tree has a larger logit.
    assert set(found["accuracy"]) == {0.0}


def test_what_stands_between_in_words() -> None:
    answered = table(
        "between fed trained chosen",
        ("thought", "thought", True, 0.9),
        ("thought", "swapped", True, 0.5),
        ("path", "collapsed", True, 0.7),
        ("thought", "collapsed", False, 0.4),
    )
    held = pl.DataFrame({"trained": [True, False]})
    found = frontier.derive({"answered": answered, "held": held})
    assert found["choices"].select("fed", "model").rows() == [
        ("thoughts", "trained"),
        ("another graph's thoughts", "trained"),
        ("a path of its own", "trained"),
        ("one node each", "untrained"),
    ]
    assert found["held"]["model"].to_list() == ["trained", "untrained"]
