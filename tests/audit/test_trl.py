"""Files of ``inweights augment`` can be used by TRL's trainer and lm-eval unchanged."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from inweights.audit import augment, token_counter, write_augmented
from inweights.errors import DataError
from inweights.worlds import read_knowledge

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning:transformers"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

CHAT = "{% for m in messages %}{{ m.role }} {{ m.content }}{{ eos_token }}{% endfor %}"


def test_two_steps_of_the_sft_trainer(tmp_path: Path) -> None:
    """TRL trains a random model of one layer, with a tokenizer made from the texts."""
    trl = pytest.importorskip("trl", reason="pip install trl lifts this")
    datasets = pytest.importorskip(
        "datasets", reason="pip install 'inweights[hf]' lifts this"
    )
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    folder = write_augmented(augment(read_knowledge("@people")), tmp_path / "out")
    data = {
        form: datasets.load_dataset(
            str(folder), form, split="train", cache_dir=str(tmp_path / "cache")
        )
        for form in ("train", "train_text", "train_chat")
    }
    texts = data["train_text"]["text"]
    core = Tokenizer(models.BPE(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<unk>", "<eos>", "<pad>"]
    core.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),  # with the question mark
            show_progress=False,
        ),
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        eos_token="<eos>",
        pad_token="<pad>",
        chat_template=CHAT,
    )
    shape = transformers.LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        pad_token_id=2,
        eos_token_id=1,
    )
    settings = trl.SFTConfig(
        output_dir=str(tmp_path / "run"),
        max_steps=2,
        per_device_train_batch_size=4,
        report_to=[],
        use_cpu=True,
        bf16=False,
        save_strategy="no",
        disable_tqdm=True,
    )
    learnt = {}
    for form, rows in data.items():
        trainer = trl.SFTTrainer(
            model=transformers.LlamaForCausalLM(shape),
            args=settings,
            train_dataset=rows,
            processing_class=tokenizer,
        )
        assert trainer.train().global_step == 2
        row = trainer.train_dataset[0]
        labels = row.get("labels", row["input_ids"])
        kept = [t for t, y in zip(row["input_ids"], labels, strict=True) if y != -100]
        learnt[form] = tokenizer.decode(kept)
    # In a prompt with its completion, the completion and its end are learnt.
    assert learnt["train"] == " Salzburg.<eos>"
    assert learnt["train_text"] == "Mozart was born in Salzburg.<eos>"
    assert (
        learnt["train_chat"]
        == "user What is the birthplace of Mozart?<eos>assistant Salzburg.<eos>"
    )

    tokenizer.save_pretrained(tmp_path / "tokenizer")
    count = token_counter(tmp_path / "tokenizer")
    made = augment(read_knowledge("@people"), tokens=count)
    assert made.tokens["train"] == sum(count(list(texts)))
    assert 0 <= made.tokens["train"] - made.tokens["control"] < 20


def test_lm_eval_asks_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm_eval = pytest.importorskip("lm_eval", reason="pip install lm-eval lifts this")
    tasks = pytest.importorskip("lm_eval.tasks")

    made = augment(read_knowledge("@people"), strategies=["derive"], hold_out=0.5)
    monkeypatch.chdir(write_augmented(made, tmp_path / "out") / "lm_eval")
    names = ["inweights_composition", "inweights_composition_told"]
    manager = tasks.TaskManager(include_path=".", include_defaults=False)
    done = lm_eval.simple_evaluate(
        model="dummy",
        tasks=names,
        task_manager=manager,
        bootstrap_iters=0,
        log_samples=True,
    )
    questions = made.questions.filter(role="composition")
    for name, told in zip(names, (False, True), strict=True):
        asked = questions.filter((pl.col("told").list.len() > 0) == told)
        rows = sorted(done["samples"][name], key=lambda row: row["doc_id"])
        assert len(rows) == asked.height > 0
        for row, q in zip(rows, asked.iter_rows(named=True), strict=True):
            assert [tuple(pair) for pair in row["arguments"]] == [
                (q["prompt"], f" {candidate}") for candidate in q["candidates"]
            ]
            assert row["target"] == q["label"]


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="pip install 'inweights[hf]' lifts this")
    with pytest.raises(DataError, match=r"contain the tokenizer, does not exist"):
        token_counter(tmp_path / "none")
    with pytest.raises(DataError, match="contains no tokenizer"):
        token_counter(tmp_path)
