"""Pretrained language models: load, fine-tune on facts, and ask what follows from them."""

from __future__ import annotations

from inweights.lazy import lazily

__all__ = [
    "DEFAULT",
    "Example",
    "FineTune",
    "FineTuned",
    "LanguageModel",
    "Paired",
    "Question",
    "add_scores",
    "ask",
    "ask_with_thought",
    "card_of",
    "changes",
    "compositionality",
    "encode",
    "evaluation",
    "exam",
    "finetune",
    "finetune_to",
    "forecast_of",
    "general_knowledge",
    "generate",
    "hidden_states",
    "kept",
    "load_model",
    "log_likelihoods",
    "named_states",
    "own_text",
    "paired",
    "paraphraser",
    "preview",
    "read_exam",
    "read_examples",
    "resemblance_by_layer",
    "say",
    "score_epochs",
    "summary",
]

#: Where it lives; loaded when asked for, since torch takes a second.
_HOMES = {
    "load": ("LanguageModel", "load_model"),
    "data": ("Example", "encode", "preview", "read_examples"),
    "fine_tune": ("DEFAULT", "FineTune"),
    "tuning": ("FineTuned", "finetune"),
    "score": ("generate", "log_likelihoods"),
    "questions": ("Question", "exam", "read_exam"),
    "epochs": ("score_epochs",),
    "evaluate": ("ask", "ask_with_thought", "say"),
    "compare": ("Paired", "changes", "compositionality", "paired", "summary"),
    "job": ("finetune_to",),
    "card": ("add_scores", "card_of"),
    "forecast": ("forecast_of",),
    "general": ("general_knowledge", "kept"),
    "replay": ("own_text",),
    "paraphrase": ("paraphraser",),
    "report": ("evaluation",),
    "states": ("hidden_states", "named_states", "resemblance_by_layer"),
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
