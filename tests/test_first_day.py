"""First steps of users: sample files, a first question, representations, commands."""

from __future__ import annotations

import json
import re
import shlex
from functools import partial

import numpy as np
import polars as pl
import pytest
from tests.forks import Forks

import inweights as iw
from inweights import actions, lm
from inweights.actions.asking import prompt_of
from inweights.cli.commands import complete_app
from inweights.cli.entry import main
from inweights.cli.examples import EXAMPLES
from inweights.errors import ConfigError, DataError, WriteError
from inweights.recipes.catalogue.citations import citations
from inweights.recipes.papers import papers
from inweights.support.showing import Card


@pytest.fixture(scope="module")
def trained():
    world = iw.TwoHop(n=4).build()
    seeds = [0, 1]
    model = iw.EmbMLPConfig(width=16).build(
        vocabulary=len(world.vocabulary), seeds=seeds
    )
    iw.train(model, world, iw.learners.two_hop_mlp(steps=300), seeds=seeds)
    return model, world


def test_ask_gives_the_fact_that_was_learnt(trained) -> None:
    model, world = trained
    asked = iw.ask(model, world, "a1 r1", best=2)
    assert asked.select("replica", "rank").rows() == [(0, 1), (0, 2), (1, 1), (1, 2)]
    first = asked.filter(rank=1)
    assert first["answer"].to_list() == ["b1", "b1"]
    assert first["right"].all()
    assert (first["probability"] > 0.5).all()
    assert not asked.filter(rank=2)["right"].any()
    whole = iw.ask(model, world, ["a1", "r1"], best=10**6)
    sums = whole.group_by("replica").agg(pl.col("probability").sum())["probability"]
    assert sums.to_list() == pytest.approx([1, 1], rel=1e-5)
    # No statement has this prompt.
    assert iw.ask(model, world, "b1 a1")["right"].is_null().all()


def test_ask_puts_a_question_to_a_language_model_in_words() -> None:
    pytest.importorskip("transformers", reason="needs the extra 'hf'")
    world = iw.open_world("@people")
    model = lm.load_model("@tiny")
    asked = iw.ask(model, world, "Mozart born_in", best=100)
    places = {
        f.answer[0]
        for f in world.facts
        if world.vocabulary.names[f.prompt[-1]] == "born_in"
    }
    assert set(asked["answer"]) == {world.vocabulary.names[place] for place in places}
    assert asked["probability"].sum() == pytest.approx(1)
    assert asked.filter(answer="Salzburg")["right"].all()
    assert asked["right"].sum() == 1
    chained = iw.ask(model, world, "Mozart born_in country", best=1)
    (text,) = [" ".join(chained["answer"])]
    (scores,) = lm.log_likelihoods(
        model, ["The country of the birthplace of Mozart is"], [[f" {text}"]]
    )
    assert np.exp(scores[0]) < chained["probability"].item() <= 1
    with pytest.raises(DataError, match="'Mozart' is not a relation"):
        iw.ask(model, world, "Mozart")


def test_ask_reads_names_with_spaces() -> None:
    words = iw.Vocabulary({"person": ["ada", "ada stone"], "town": ["stone"]})
    facts = iw.Statements.build({"edge": ([[0]], [[2]])})
    world = iw.World("towns", words, facts, iw.Statements.build({}))
    assert prompt_of(world, "ada stone ada ada stone") == [1, 0, 1]
    assert prompt_of(world, ["ada", "stone"]) == [0, 2]


@pytest.mark.parametrize(
    ("question", "error", "says"),
    [
        ("a1 rr1", DataError, "did you mean 'r1'"),
        ("", ConfigError, "at least one token"),
    ],
)
def test_ask_refuses_what_it_does_not_know(trained, question, error, says) -> None:
    with pytest.raises(error, match=says):
        iw.ask(trained[0], trained[1], question)


def test_ask_refuses_more_tokens_than_a_model_reads() -> None:
    world = iw.TwoHop(n=3).build()
    model = iw.GPTConfig(layers=1, width=8, context=2).build(
        vocabulary=len(world.vocabulary), seeds=[0]
    )
    with pytest.raises(ConfigError, match="has 3 tokens; the model reads at most 2"):
        iw.ask(model, world, "a1 r1 r2")


def test_models_are_compared_role_by_role(trained) -> None:
    model, world = trained
    fresh = iw.EmbMLPConfig(width=8).build(vocabulary=len(world.vocabulary), seeds=[0])
    table = iw.compare_models(fresh, model, world)
    row = table.filter(role="first_hop").row(0, named=True)
    assert row["second"] == 1
    assert row["difference"] == 1 - row["first"] > 0
    assert row["replicas"] == "1 and 2"


def test_some_replicas_are_a_model_of_their_own(trained) -> None:
    model, world = trained
    both, alone = (
        iw.probes.accuracy(model, world),
        iw.probes.accuracy(model.select([1]), world),
    )
    drop = pl.exclude("replica")
    assert both.filter(replica=1).select(drop).equals(alone.select(drop))
    with pytest.raises(ConfigError, match="'replica' must be from 0 to 1, got 2"):
        model.select([2])


@pytest.mark.slow
def test_new_writes_what_works(tmp_path, forks: Forks) -> None:
    kinds = ("world", "probe", "recipe")
    tests = [actions.new(kind, f"my-{kind}", tmp_path)[1] for kind in kinds]
    done = forks.start("tests.shell:tests_of", tmp_path, *tests)
    assert done.wait() == 0, done.output
    for kind, test in zip(kinds, tests, strict=True):
        assert re.search(rf"^PASSED .*{test.name}::", done.output, re.MULTILINE)
        with pytest.raises(ConfigError, match="already exists"):
            actions.new(kind, f"my-{kind}", tmp_path)


def test_new_study_is_that_of_the_examples(tmp_path) -> None:
    [study] = actions.new("study", "mine", tmp_path / "a")
    found = actions.examples(tmp_path / "b")
    assert [path.name for path in found] == ["edges.csv", "facts.csv", "study.toml"]
    assert study.read_text() == found[2].read_text()
    assert iw.experiments.open_study(study).name == "study/mine"


@pytest.mark.parametrize(
    ("kind", "name", "says"),
    [
        ("wrld", "x", "did you mean 'world'"),
        ("world", "../x", "begin with a lower-case letter"),
        ("probe", "class", "begin with a lower-case letter"),
        ("world", "a\n", "begin with a lower-case letter"),
    ],
)
def test_new_refuses(tmp_path, kind, name, says) -> None:
    with pytest.raises(ConfigError, match=says):
        actions.new(kind, name, tmp_path)
    assert not list(tmp_path.iterdir())


def test_new_says_where_it_cannot_write(tmp_path) -> None:
    with pytest.raises(WriteError, match=r"cannot write to .*File name too long"):
        actions.new("world", "mine", tmp_path / ("x" * 300))


def test_examples_write_all_or_nothing(tmp_path) -> None:
    (tmp_path / "study.toml").write_text("mine")
    with pytest.raises(ConfigError, match="already exists"):
        actions.examples(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


def test_a_card_is_short_and_nothing_in_it_is_markup() -> None:
    rows = [(f"<script>{n}</script>", "\x1b[31m" + "long " * 90) for n in range(400)]
    card = Card("<b>&", {"a": '"<i>'}, ("x", "y"), rows)
    assert len(card.text.splitlines()) <= 20
    assert "\x1b" not in card.text
    assert "390 more" in card.text
    assert "390 more" in card.html
    assert "<script>" not in card.html
    assert "<i>" not in card.html
    assert "\x1b" not in card.html


@pytest.mark.slow
def test_objects_show_themselves(trained, tmp_path) -> None:
    model, world = trained
    prediction = iw.predict(world)
    outcome = iw.run("demo", "smoke", seeds=2, runs=tmp_path)
    plan = outcome.recipe.plan(outcome.recipe.scales["smoke"])
    fresh = iw.EmbMLPConfig().build(vocabulary=len(world.vocabulary), seeds=[0])
    result = iw.train(fresh, world, iw.learners.two_hop_mlp(steps=2), seeds=[0])
    shown = (
        world,
        model,
        prediction,
        outcome,
        outcome.claims[0],
        outcome.recipe.claims[0],
        plan,
    )
    for one in (*shown, result, iw.board()):
        assert len(repr(one).splitlines()) <= 20, repr(one)
        assert one._repr_html_().startswith("<strong>")
    assert "data:image/svg+xml" in outcome._repr_html_()
    assert outcome.claims[0].verdict in repr(outcome.claims[0])
    assert world.to_frame().equals(world.table())


@pytest.mark.slow
def test_the_newest_run_is_last_and_demo_is_a_name(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path))
    assert main(["show", "last"]) == 2
    assert "try 'inweights demo'" in capsys.readouterr().err
    outcome = iw.run("demo", "smoke", seeds=2)
    assert main(["show", "last", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["folder"] == str(outcome.folder.path)
    assert iw.recipes.full_name("demo") == "demo/two-hop"


def test_what_has_no_rows_is_not_exported(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path))
    study = tmp_path / "bare.toml"
    text = '[world]\nkind = "two-hop"\nn = 3\n[model]\nkind = "emb-mlp"\nwidth = 8\n'
    study.write_text(f"seeds = 2\n{text}[[learner.phases]]\nsteps = 3\n")
    assert main(["sweep", str(study)]) == 0
    assert main(["export", "last", "--latex", "--out", str(tmp_path / "out")]) == 2
    assert "has no claims" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_doctor_tells_what_to_do(tmp_path, monkeypatch, capsys) -> None:
    assert main(["doctor", "--json"]) == 0
    found = {one["what"]: one for one in json.loads(capsys.readouterr().out)}
    assert {"inweights", "torch", "GPU", "runs", "browser"} <= set(found)
    monkeypatch.setattr("os.access", lambda *_: False)
    assert main(["doctor", "--runs", str(tmp_path / "away")]) == 1
    assert "$INWEIGHTS_RUNS" in capsys.readouterr().out


def test_papers_are_cited_with_author_and_year() -> None:
    cited = [paper for paper, about in papers().items() if about.citation]
    ours = [paper for paper, about in papers().items() if about.title == "inweights"]
    assert sorted([*cited, *ours, "demo"]) == sorted(papers())
    for paper in cited:
        entry, own = citations(paper)
        kind = "inproceedings" if "booktitle = {" in entry else "misc"
        assert entry.startswith(f"@{kind}{{")
        assert own.startswith("@software{inweights,")
        for field in ("title", "author", "year", "eprint"):
            assert f"  {field} = {{" in entry, (paper, field)


def test_an_unknown_scale_is_an_error(tmp_path) -> None:
    """It does not give an empty board or a run that does not exist."""
    for look in (actions.verdicts, partial(actions.find, "identity-bridge/fig4")):
        with pytest.raises(ConfigError, match=r"unknown scale 'cpus'.*'cpu'"):
            look(scale="cpus", runs=tmp_path)


@pytest.mark.slow
def test_verdicts_without_a_run_are_those_of_the_stored_board(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.delenv("INWEIGHTS_RESULTS")
    monkeypatch.chdir(tmp_path)
    found = actions.verdicts(only="identity-bridge/fig4", runs=tmp_path)
    assert found
    assert {claim.why for claim in found} == {"from the stored board"}
    assert {claim.verdict for claim in found} <= {
        "reproduced",
        "not reproduced",
        "undecided",
    }


def test_each_command_shows_two_examples_that_parse() -> None:
    app = complete_app()
    assert set(EXAMPLES) == {name for name in app if not name.startswith("-")}
    for name, lines in EXAMPLES.items():
        assert len(lines) == 2
        for line in lines:
            words = shlex.split(line)
            assert words[:2] == ["inweights", name]
            assert line in app[name].help
            if "--help" not in words:
                app.parse_args(words[1:], exit_on_error=False, print_error=False)


@pytest.mark.slow
def test_the_examples_run_one_after_another(
    tmp_path, monkeypatch, trained, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    monkeypatch.delenv("INWEIGHTS_RESULTS")
    model, world = trained
    actions.examples(".")
    iw.save_model(model, "model.safetensors")
    first = ["augment", "plan", "run", "sweep"]
    minutes = ["demo", "finetune", "evaluate", "gguf"]  # these have separate tests
    order = first + [name for name in EXAMPLES if name not in (*first, *minutes)]
    assert world.settings["n"] == 4
    for name in order:
        for line in EXAMPLES[name]:
            words = shlex.split(line)[1:]
            if "two-hop" in words and name == "ask":  # like the model that was saved
                words += ["--set", "n=4"]
            if "--help" not in words:
                assert main(words) == 0, (line, capsys.readouterr().err)
