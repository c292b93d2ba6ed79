"""Interactive pictures in a real browser: training in the page equals training in Python."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.browser import DRAWN

import inweights as iw
from inweights.cli import main
from inweights.models import TinyNNConfig
from inweights.report.living.explore import EXPLORATIONS, explore_page
from inweights.theory.geometric_memory.graph import adjacency
from inweights.theory.geometric_memory.node2vec import descend
from inweights.worlds import Graph

STEPS = 200
#: Script that trains a model of the page for some steps from given initial values.
LEARN = """([kind, options, targets, n, v, rate, steps]) => {
  const model = Learn[kind](options), told = Float64Array.from(targets);
  let loss = 0;
  for (let i = 0; i < steps; i++) { loss = model.step(told, n, v, rate); }
  return {E: Array.from(model.embedding()), loss};
}"""
BRIDGE = """([options, facts, rate, steps]) => {
  const model = Learn.embMLP(options);
  for (let i = 0; i < steps; i++) { model.step(facts, rate); }
  return Array.from(model.templates());
}"""


def train(model, world, kind, rate):
    """Train as the page does, with a constant rate and without decay."""
    optimizer = iw.Optimizer(kind=kind, rate=rate, weight_decay=0.0)
    phase = iw.Phase(
        steps=STEPS, optimizer=optimizer, schedule=iw.Schedule(kind="constant")
    )
    iw.train(model, world, iw.Curriculum(phases=(phase,)), seeds=[0])


@pytest.fixture(scope="module")
def addresses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explore")
    for which in EXPLORATIONS:
        (folder / f"{which}.html").write_text(explore_page(which), encoding="utf-8")
    return {which: (folder / f"{which}.html").as_uri() for which in EXPLORATIONS}


def test_command_writes_a_page(tmp_path, capsys):
    page = tmp_path / "new" / "bridge.html"
    assert main(["explore", "bridge", "--out", str(page)]) == 0
    assert page.read_text("utf-8") == explore_page("bridge")
    assert page.as_uri() in capsys.readouterr().out
    assert main(["explore", "brigde", "--out", str(tmp_path / "no.html")]) == 2
    assert "bridge" in capsys.readouterr().err
    assert not (tmp_path / "no.html").exists()


@pytest.mark.slow
@pytest.mark.browser
class TestEqualToPython:
    def test_node2vec(self, visit, addresses):
        page = visit(addresses["geometry"], ".ready")
        a = adjacency(Graph(shape="irregular", shuffled=False).build())
        n, width = len(a), 12
        start = np.random.default_rng(0).normal(size=(1, n, width)) * 0.3
        expected = descend(start, a, rate=0.05, steps=STEPS).vectors[0]
        options = {
            "width": width,
            "tokens": n,
            "std": 1,
            "seed": 0,
            "start": {"E": start.ravel().tolist()},
        }
        got = page.evaluate(
            LEARN, ["node2vec", options, a.ravel().tolist(), n, n, 0.05, STEPS]
        )
        np.testing.assert_allclose(
            np.reshape(got["E"], (n, width)), expected, atol=1e-6, rtol=0
        )

    @pytest.mark.parametrize(("idle", "self_edges"), [(0, False), (9, True)])
    def test_tiny_nn(self, visit, addresses, idle, self_edges):
        page = visit(addresses["geometry"], ".ready")
        world = Graph(shape="grid", shuffled=False, self_edges=self_edges).build()
        a, width, rate = adjacency(world), 8, 0.01
        n = len(a)
        model = TinyNNConfig(width=width).build(vocabulary=n + idle, seeds=[0]).double()
        start = {
            "E": model.tokens.weight.detach().flatten().tolist(),
            "W": model.middle.weight.detach().flatten().tolist(),
        }
        train(model, world, "adamw", rate)
        told = np.zeros((n, n + idle))
        told[:, :n] = a
        options = {
            "width": width,
            "tokens": n + idle,
            "std": 1,
            "seed": 0,
            "start": start,
        }
        got = page.evaluate(
            LEARN, ["tinyNN", options, told.ravel().tolist(), n, n + idle, rate, STEPS]
        )
        expected = model.tokens.weight.detach().numpy()[0]
        np.testing.assert_allclose(
            np.reshape(got["E"], expected.shape), expected, atol=1e-6, rtol=0
        )

    def test_emb_mlp(self, visit, addresses):
        page = visit(addresses["bridge"], ".ready")
        world = iw.TwoHop(n=5, complexity=2, identity=0.5).build(seed=0)
        candidates = world.outputs.tolist()
        config = iw.EmbMLPConfig(width=16)
        model = config.build(
            vocabulary=len(world.vocabulary), seeds=[0], candidates=candidates
        ).double()
        start = {
            "E": model.tokens.weight.detach().flatten().tolist(),
            "P": model.projection.weight.detach().flatten().tolist(),
        }
        train(model, world, "sgd", 2.0)
        facts = [
            {"prompt": prompt, "answer": candidates.index(answer[0])}
            for _, prompts, answers in world.facts.by_shape()
            for prompt, answer in zip(prompts.tolist(), answers.tolist(), strict=True)
        ]
        options = {
            "width": 16,
            "tokens": len(world.vocabulary),
            "outputs": len(candidates),
            "std": 1,
            "seed": 0,
            "start": start,
        }
        got = page.evaluate(BRIDGE, [options, facts, 2.0, STEPS])
        with torch.no_grad():
            expected = model.templates().numpy()[0]
        np.testing.assert_allclose(
            np.reshape(got, expected.shape), expected, atol=1e-6, rtol=0
        )


@pytest.mark.slow
@pytest.mark.browser
class TestUnderTheHand:
    def test_a_cycle_becomes_a_ring(self, visit, addresses):
        page = visit(addresses["geometry"], ".ready")
        page.locator("[data-name=speed]").fill("40")
        page.click(".explore-play")
        near = (
            ".explore-rho:text-matches('−(0.9|1.0)')"  # the page evaluates no strings
        )
        page.wait_for_selector(near)

    def test_a_slow_machine_takes_fewer_steps_a_frame(self, visit, addresses):
        page = visit(addresses["geometry"], ".ready")
        taken = """each => {
          let now = 0, steps = 0;
          performance.now = () => now;
          Learn.steps(40, () => { now += each; steps += 1; return true; });
          return steps;
        }"""
        assert [page.evaluate(taken, ms) for ms in (0.01, 1, 2.5, 100)] == [40, 6, 3, 1]

    def test_a_frame_of_64_nodes_draws_one_panel(self, visit, addresses):
        """Operations are counted: during training, each frame draws one of the three panels."""
        page = visit(addresses["geometry"], ".ready")
        page.click("button:text-is('torus')")
        assert (
            page.evaluate("document.querySelectorAll('.explore-editor circle').length")
            == 64
        )
        page.evaluate("""() => {
          window.drawn = {scene: 0, heat: 0, energy: 0, curves: 0};
          const count = (from, name, as) => {
            const draw = from[name];
            from[name] = (...given) => { drawn[as] += 1; return draw(...given); };
          };
          count(AtlasScene, "draw", "scene");
          ["heat", "energy", "curves"].forEach(name => count(AtlasPanels, name, name));
        }""")
        for model in ("node2vec", "tinyNN"):
            page.click(f"label:has([value={model}])")
            page.click(".explore-play")
            began = page.evaluate("({...drawn})")
            page.wait_for_function(
                "scenes => drawn.scene > scenes + 30", arg=began["scene"]
            )
            ended = page.evaluate("({...drawn})")
            page.click(".explore-play")
            scenes, *panels = (ended[name] - began[name] for name in began)
            assert sum(panels) == scenes, model
            assert max(panels) - min(panels) <= 1, model

    def test_what_diverges_says_so_and_the_page_lives(self, visit, addresses):
        page = visit(addresses["geometry"], ".ready")
        page.locator("[data-name=rate]").fill("0")
        page.locator("[data-name=std]").fill("0.3")
        page.click(".explore-play")
        page.wait_for_selector(".explore-shown:text-matches('diverged')")
        page.set_viewport_size({"width": 700, "height": 700})
        assert page.inner_text(".explore-play") == "Train"
        page.click(".explore-reset")
        assert "variance" in page.inner_text(".explore-shown")

    def test_the_graph_is_changed_while_it_trains(self, visit, addresses):
        page = visit(
            addresses["geometry"], ".ready", viewport={"width": 1280, "height": 1000}
        )
        page.click("label:has([value=tinyNN])")
        page.click(".explore-play")
        nodes = "document.querySelectorAll('.explore-editor circle').length"
        before = page.evaluate(nodes)
        box = page.locator(".explore-editor").bounding_box()
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert page.evaluate(nodes) == before + 1
        page.locator("[data-name=idle]").fill("9")
        page.evaluate(DRAWN)
        page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        assert page.evaluate(nodes) == before
        page.click(".explore-play")
        assert page.inner_text(".explore-loss") not in ("–", "NaN")

    def test_a_list_that_is_wrong_says_which_line(self, visit, addresses):
        page = visit(addresses["geometry"], ".ready")
        page.click("summary")
        page.fill("#edges", "1-2\n2-x")
        page.click(".explore-apply")
        assert "line 2" in page.inner_text(".explore-problem")
        page.fill("#edges", "1-2\n2-3\n3-1")
        page.click(".explore-apply")
        assert (
            page.evaluate("document.querySelectorAll('.explore-editor line').length")
            == 3
        )

    def test_identities_unlock_their_own_compositions(self, visit, addresses):
        page = visit(addresses["bridge"], ".ready")
        page.click("[data-all=half]")
        page.locator("[data-name=speed]").fill("40")
        page.click(".explore-play")
        page.wait_for_selector(".explore-queries .good >> nth=2")
        page.click("[data-all='1']")
        page.wait_for_selector(".explore-queries:not(:has(.bad))")
