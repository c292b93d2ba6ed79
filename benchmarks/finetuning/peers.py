"""The peers, TRL's trainer and a loop of plain PyTorch, which make the same updates."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import torch
from benchmarks.finetuning.cases import SEED, Case
from torch import Tensor

from inweights.lm import LanguageModel
from inweights.lm.model.data import Encoded
from inweights.lm.tuning.adapters import draw_adapters

__all__ = ["PEERS"]

#: Function that is called after each update with its loss, in nats per token.
Made = Callable[[float], None]


def network(lm: LanguageModel, case: Case) -> Any:
    """Return the model to train, with our initial adapters."""
    if case.method == "full":
        return lm.model
    from peft import LoraConfig, get_peft_model

    how = case.settings
    adapters = LoraConfig(
        r=how.rank,
        lora_alpha=int(how.alpha),
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    wrapped = get_peft_model(lm.model, adapters)
    draw_adapters(wrapped, SEED)
    return wrapped


def collated(rows: list[Encoded], pad: int) -> dict[str, Tensor]:
    """Return a padded batch."""
    size = max(len(row.ids) for row in rows)
    ids = torch.full((len(rows), size), pad)
    mask, labels = torch.zeros_like(ids), torch.full_like(ids, -100)
    for i, row in enumerate(rows):
        ids[i, : len(row.ids)] = torch.tensor(row.ids)
        mask[i, : len(row.ids)] = 1
        labels[i, row.start : len(row.ids)] = torch.tensor(row.ids[row.start :])
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


def plain(lm: LanguageModel, case: Case, rows: list[list[Encoded]], made: Made) -> None:
    """Train with a loop of plain PyTorch, with peft for adapters."""
    net = network(lm, case).train()
    trained = [p for p in net.parameters() if p.requires_grad]
    rate = case.settings.rate
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=0.0, fused=True)
    half = case.precision == "bf16"
    for batch in rows:
        given = collated(batch, lm.tokenizer.pad_token_id)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            loss = net(**given, use_cache=False).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        made(float(loss.detach()))


def trl(lm: LanguageModel, case: Case, rows: list[list[Encoded]], made: Made) -> None:
    """Train with TRL's trainer, its own collator, loss and optimizer, on the given batches."""
    from datasets import Dataset
    from torch.utils.data import DataLoader
    from transformers import TrainerCallback
    from trl.trainer.sft_config import SFTConfig
    from trl.trainer.sft_trainer import SFTTrainer

    class SameBatches(SFTTrainer):
        def get_train_dataloader(self) -> Any:
            table: Any = self.train_dataset
            count, parts = 0, []
            for batch in rows:
                parts.append(list(range(count, count + len(batch))))
                count += len(batch)
            return DataLoader(table, batch_sampler=parts, collate_fn=self.data_collator)

    class Waiting(TrainerCallback):
        def on_log(self, *_given: Any, **known: Any) -> None:
            if "loss" in known["logs"]:
                made(float(known["logs"]["loss"]))

    data = []
    for row in (row for batch in rows for row in batch):
        labels = [-100] * row.start + list(row.ids[row.start :])
        data.append({"input_ids": list(row.ids), "labels": labels})
    with tempfile.TemporaryDirectory() as out:
        settings = SFTConfig(
            output_dir=out,
            max_steps=len(rows),
            learning_rate=case.settings.rate,
            lr_scheduler_type="constant",
            gradient_checkpointing=False,
            completion_only_loss=True,
            bf16=case.precision == "bf16",
            use_cpu=True,
            report_to=[],
            logging_steps=1,
            save_strategy="no",
            disable_tqdm=True,
            remove_unused_columns=False,
            dataset_kwargs={"skip_prepare_dataset": True},
        )
        trainer = SameBatches(
            model=network(lm, case),
            args=settings,
            train_dataset=Dataset.from_list(data),
            processing_class=lm.tokenizer,
            callbacks=[Waiting()],
        )
        trainer.train()


#: Functions by name, each of which trains a case's model and reports each update.
PEERS: dict[str, Callable[[LanguageModel, Case, list[list[Encoded]], Made], None]] = {
    "TRL": trl,
    "plain PyTorch": plain,
}
