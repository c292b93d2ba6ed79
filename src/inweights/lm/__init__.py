"""Pretrained language models: load, fine-tune on facts, and evaluate."""

from __future__ import annotations

from inweights.support.lazy import lazily

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
    "model.load": ("LanguageModel", "load_model"),
    "model.data": ("Example", "encode", "preview", "read_examples"),
    "tuning.fine_tune": ("DEFAULT", "FineTune"),
    "tuning.tuning": ("FineTuned", "finetune"),
    "model.score": ("generate", "log_likelihoods"),
    "exams.questions": ("Question", "exam", "read_exam"),
    "tuning.epochs": ("score_epochs",),
    "exams.evaluate": ("ask", "ask_with_thought", "say"),
    "exams.compare": ("Paired", "changes", "compositionality", "paired", "summary"),
    "tuning.job": ("finetune_to",),
    "tuning.card": ("add_scores", "card_of"),
    "exams.prediction": ("forecast_of",),
    "exams.general": ("general_knowledge", "kept"),
    "tuning.replay": ("own_text",),
    "tuning.paraphrase": ("paraphraser",),
    "exams.report": ("evaluation",),
    "exams.states": ("hidden_states", "named_states", "resemblance_by_layer"),
}

__getattr__, __dir__ = lazily(__name__, _HOMES)
