"""Right answers in real graphs, recounted without this library, and derived numbers.

The graphs are from ``networkx`` and a part of Nations (``data/README.md``). Every number is
computed from the file in plain Python and PyTorch.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from tests.console.calls import call

import inweights as iw
from inweights import probes
from inweights.audit.prediction.by_training import predict_by_training
from inweights.models.configs import EmbMLPConfig, Init
from inweights.training import Curriculum, Optimizer, Phase, train

Rows = list[tuple[str, str, str]]
Ends = dict[tuple[str, ...], set[str]]
NATIONS = Path(__file__).parent / "data/nations.tsv"
BRIEF = {
    "small": (
        EmbMLPConfig(width=32, init=Init(std=0.1)),
        Curriculum(
            phases=(Phase(steps=400, optimizer=Optimizer(kind="sgd", rate=1.0)),)
        ),
    )
}


def edges(graph: nx.Graph, *, both: bool) -> Rows:
    rows = [
        (str(a).replace(",", ""), "knows", str(b).replace(",", ""))
        for a, b in graph.edges
    ]
    return rows + [(b, r, a) for a, r, b in rows] * both


def graphs() -> dict[str, Rows]:
    with NATIONS.open(encoding="utf-8") as file:
        nations = [(s, r, o) for s, r, o in csv.reader(file, delimiter="\t")]
    return {
        "florentine": edges(nx.florentine_families_graph(), both=False),
        "florentine, both ways": edges(nx.florentine_families_graph(), both=True),
        "les miserables": edges(nx.les_miserables_graph(), both=True),
        "karate": edges(nx.karate_club_graph(), both=False),
        "women": edges(nx.davis_southern_women_graph(), both=True),
        "nations": nations,
    }


GRAPHS = graphs()


def written(folder: Path, rows: Rows) -> str:
    path = folder / "graph.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return str(path)


def ends(rows: Rows) -> Ends:
    """Return the objects of all chains of two facts, by subject and relations."""
    out: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for s, r, o in rows:
        out[s, r].add(o)
    found: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    for (s, first), bridges in out.items():
        for (b, second), things in out.items():
            if b in bridges:
                found[s, first, second] |= things
    return dict(found)


def said(world: iw.World, index: int) -> tuple[tuple[str, ...], set[str]]:
    """Return the prompt and all right answers of a query, by name."""
    names = world.vocabulary.names
    prompt = tuple(names[token] for token in world.queries.prompt(index))
    return prompt, {names[token] for token in world.queries.right_answers(index)}


@pytest.mark.parametrize("name", GRAPHS)
def test_prompts_answers_and_chance_are_those_of_the_file(
    tmp_path: Path, name: str
) -> None:
    rows = GRAPHS[name]
    right = ends(rows)
    world = iw.Facts(path=written(tmp_path, rows)).build()
    assert dict(said(world, index) for index in range(len(world.queries))) == right
    assert len(world.queries) == len(right)
    among = len({thing for _, _, thing in rows})
    table = world.table().filter(part="queries")
    counts = [len(right[tuple(prompt.rsplit(" ", 2))]) for prompt in table["prompt"]]
    assert table["right_answers"].to_list() == counts
    np.testing.assert_allclose(world.chances, np.array(counts) / among)


def test_a_sample_is_of_prompts_with_all_their_answers(tmp_path: Path) -> None:
    """180,000 pairs of facts form chains, but there are only 200 questions, all evaluated."""
    rows = edges(nx.gnm_random_graph(200, 3000, seed=5), both=True)
    right = ends(rows)
    pairs = sum(
        len([r for r in rows if r[2] == node]) ** 2 for node in {r[0] for r in rows}
    )
    assert pairs > 100_000 > 20_000 > len(right)
    world = iw.Facts(path=written(tmp_path, rows)).build()
    assert dict(said(world, index) for index in range(len(world.queries))) == right


@pytest.mark.slow
def test_of_more_questions_than_are_asked_each_has_all_answers(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    drawn = rng.integers(0, [300, 10, 300], size=(9000, 3)).tolist()
    rows = sorted({(f"n{s}", f"r{r}", f"n{o}") for s, r, o in drawn})
    right = ends(rows)
    world = iw.Facts(path=written(tmp_path, rows)).build()
    asked = dict(said(world, index) for index in range(len(world.queries)))
    assert len(asked) == len(world.queries) == 20_000 < len(right)
    assert all(right[prompt] == answers for prompt, answers in asked.items())


@pytest.mark.parametrize("name", ["florentine, both ways", "nations"])
def test_accuracy_and_margins_are_those_of_plain_torch(
    tmp_path: Path, name: str
) -> None:
    right = ends(GRAPHS[name])
    world = iw.Facts(path=written(tmp_path, GRAPHS[name])).build()
    config, learner = BRIEF["small"]
    outputs = world.outputs.tolist()
    model = config.build(
        vocabulary=len(world.vocabulary), seeds=[3], candidates=outputs
    )
    train(model, world, learner, seeds=[3])
    weights = {key: value[0].double() for key, value in model.state_dict().items()}
    place = {name: i for i, name in enumerate(world.vocabulary.names)}
    names = [world.vocabulary.names[token] for token in outputs]
    hits, margins = [], []
    for prompt, answers in right.items():
        tokens = torch.tensor([place[word] for word in prompt])
        logits = weights["tokens.weight"][tokens].sum(0) @ weights["projection.weight"]
        good = torch.tensor([name in answers for name in names])
        hits.append(names[int(logits.argmax())] in answers)
        wrong = logits[~good].tolist()  # none if every answer is right
        margins.append(float(logits[good].max()) - max(wrong, default=-np.inf))
    (row,) = probes.accuracy(model, world).filter(part="queries").iter_rows(named=True)
    assert row["statements"] == len(right)
    assert row["accuracy"] == pytest.approx(np.mean(hits))
    among = len(set().union(*right.values()))
    assert row["chance"] == pytest.approx(
        np.mean([len(one) for one in right.values()]) / among
    )
    assert row["right_answers"] == pytest.approx(
        np.mean([len(one) for one in right.values()])
    )
    table = probes.margins(model, world)
    by_prompt = dict(table.select("prompt", "margin").iter_rows())
    for prompt, margin in zip(right, margins, strict=True):
        assert by_prompt[" ".join(prompt)] == pytest.approx(margin, abs=1e-3)


@pytest.mark.parametrize("name", ["florentine, both ways", "nations"])
def test_a_short_training_counts_any_right_answer(tmp_path: Path, name: str) -> None:
    """With one replica, a query's share is 1 if its answer is right according to the file."""
    right = ends(GRAPHS[name])
    world = iw.Facts(path=written(tmp_path, GRAPHS[name])).build()
    found = predict_by_training(world, BRIEF, replicas=2)
    assert found.queries.height == len(right)
    among = len({thing for _, _, thing in GRAPHS[name]})
    for row in found.queries.iter_rows(named=True):
        prompt, answers = said(world, row["query"])
        assert answers == right[prompt]
        if row["share"] in (0.0, 1.0):
            assert (row["predicted"] in answers) == (row["share"] == 1.0)
        assert row["right_answers"] == len(answers)
        assert row["chance"] == pytest.approx(len(answers) / among)
    (kind,) = found.kinds.iter_rows(named=True)
    assert kind["queries"] == len(right)
    assert kind["share"] == pytest.approx(found.queries["share"].mean())
    assert kind["chance"] == pytest.approx(found.queries["chance"].mean())


@pytest.mark.parametrize("name", GRAPHS)
def test_a_forecast_is_of_prompts_and_never_below_chance(
    tmp_path: Path, name: str
) -> None:
    right = ends(GRAPHS[name])
    made = iw.predict(
        iw.Facts(path=written(tmp_path, GRAPHS[name])).build(), advise=False
    )
    rows = made.queries.join(made.probabilities, on="query")
    assert rows.height == len(right)
    words = {f"{' '.join(prompt)}": answers for prompt, answers in right.items()}
    for row in rows.iter_rows(named=True):
        answers = words[row["prompt"]]
        assert row["answer"] in answers
        assert row["right_answers"] == len(answers)
        if row["verdict"] == "follows":
            assert row["predicted"] in answers
        if row["verdict"] == "fails":
            assert row["predicted"] not in answers
        for model in ("Emb-MLP", "GPT"):
            assert row[f"{model} probability"] >= row["chance"]
    facts = {
        f"({s} {r}) → {o}": {x for t, q, x in GRAPHS[name] if (t, q) == (s, r)}
        for s, r, o in GRAPHS[name]
    }
    for statement, instead in made.let_go.select("statement", "instead").iter_rows():
        assert instead not in facts[statement]


@pytest.mark.slow
def test_nothing_is_called_likely_of_a_file_like_none_that_was_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, GRAPHS["les miserables"])
    shown = call(capsys, "predict", path, "--no-advice")[1]
    assert "kely" not in shown
    told = "--by training trains 8 replicas of each model on these facts, about"
    assert told in " ".join(shown.split())
    plain = json.loads(call(capsys, "predict", path, "--no-advice", "--json")[1])
    assert {row["outlook"] for row in plain["queries"]} == {"uncalibrated"}
    near = call(capsys, "predict", written(tmp_path, GRAPHS["nations"]), "--no-advice")[
        1
    ]
    assert "likely" in near


CITY_STATES = """country,capital,city
Andorra,capital,Andorra
Lyria,capital,Port Lyr
Ostland,capital,Grauburg
Andorra,continent,Europe
Port Lyr,continent,Asia
Grauburg,continent,Europe
Port Lyr,river,Lyr
Mina,born in,Andorra
Timo,born in,Grauburg
"""


def test_one_number_of_questions_on_every_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Andorra's capital is Andorra, which is an ordinary fact whose questions are counted."""
    path = tmp_path / "states.csv"
    path.write_text(CITY_STATES, encoding="utf-8")
    rows = [tuple(line.split(",")) for line in CITY_STATES.splitlines()[1:]]
    count = len(ends(rows))  # type: ignore[arg-type]
    audited = json.loads(call(capsys, "audit", str(path), "--json")[1])
    assert f" of {count} two-step questions follow" in audited["headline"]
    assert sum(row["questions"] for row in audited["outlook"]) == count
    assert sum(row["subjects"] for row in audited["compositions"]) == count
    asked = [
        row for row in audited["forecast"]["queries"] if row["role"] == "composition"
    ]
    assert len(asked) == count
    without = json.loads(call(capsys, "audit", str(path), "--no-forecast", "--json")[1])
    assert without["headline"].startswith(f"{count} two-step questions (")
    predicted = json.loads(
        call(capsys, "predict", str(path), "--no-advice", "--json")[1]
    )
    assert sum(row["role"] == "composition" for row in predicted["queries"]) == count
    made = json.loads(
        call(capsys, "augment", str(path), "--out", str(tmp_path / "out"), "--json")[1]
    )
    assert made["chains"] == count


@pytest.mark.parametrize("name", ["florentine, both ways", "nations"])
def test_a_held_out_question_stands_for_its_prompt(tmp_path: Path, name: str) -> None:
    from inweights.audit import held_out
    from inweights.worlds import Wording, read_knowledge

    right = ends(GRAPHS[name])
    asked = held_out(
        read_knowledge(written(tmp_path, GRAPHS[name])), Wording(), reverse=False
    )
    asked = asked.filter(role="composition")
    prompts = asked.select("subject", "first", "second").rows()
    assert len(set(prompts)) == len(prompts)
    for prompt, row in zip(prompts, asked.iter_rows(named=True), strict=True):
        assert row["accepted"] == [row["answer"]]
        assert {row["answer"], *row["also_right"]} == right[prompt]
        assert set(row["candidates"]) & right[prompt] == {row["answer"]}
