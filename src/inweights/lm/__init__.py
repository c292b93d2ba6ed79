"""Load pretrained language models, fine-tune them on facts, and evaluate them.

:func:`load_model` returns a :class:`LanguageModel`; :func:`finetune` and
:func:`finetune_to` train it on examples; :func:`evaluation` evaluates it on questions.
The commands ``inweights finetune`` and ``inweights evaluate`` call these functions.
"""

from typing import TYPE_CHECKING

from inweights.support.lazy import lazily

if TYPE_CHECKING:
    from inweights.lm.exams.abstain import abstention as abstention
    from inweights.lm.exams.abstain import abstention_shares as abstention_shares
    from inweights.lm.exams.abstain import read_unanswerable as read_unanswerable
    from inweights.lm.exams.answer_files import compare_answers as compare_answers
    from inweights.lm.exams.answer_files import read_answers as read_answers
    from inweights.lm.exams.compare import Paired as Paired
    from inweights.lm.exams.compare import changes as changes
    from inweights.lm.exams.compare import compositionality as compositionality
    from inweights.lm.exams.compare import paired as paired
    from inweights.lm.exams.compare import summary as summary
    from inweights.lm.exams.evaluate import ask as ask
    from inweights.lm.exams.evaluate import ask_with_thought as ask_with_thought
    from inweights.lm.exams.evaluate import say as say
    from inweights.lm.exams.general import general_knowledge as general_knowledge
    from inweights.lm.exams.general import kept as kept
    from inweights.lm.exams.questions import Question as Question
    from inweights.lm.exams.questions import exam as exam
    from inweights.lm.exams.questions import read_exam as read_exam
    from inweights.lm.exams.report import evaluation as evaluation
    from inweights.lm.exams.report import forecast_of as forecast_of
    from inweights.lm.exams.states import hidden_states as hidden_states
    from inweights.lm.exams.states import named_states as named_states
    from inweights.lm.exams.states import resemblance_by_layer as resemblance_by_layer
    from inweights.lm.model.data import Example as Example
    from inweights.lm.model.data import encode as encode
    from inweights.lm.model.data import preview as preview
    from inweights.lm.model.data import read_examples as read_examples
    from inweights.lm.model.gguf_file import write_gguf as write_gguf
    from inweights.lm.model.load import LanguageModel as LanguageModel
    from inweights.lm.model.load import load_model as load_model
    from inweights.lm.model.score import generate as generate
    from inweights.lm.model.score import log_likelihoods as log_likelihoods
    from inweights.lm.tuning.card import add_scores as add_scores
    from inweights.lm.tuning.card import card_of as card_of
    from inweights.lm.tuning.cost import Cost as Cost
    from inweights.lm.tuning.cost import cost_of as cost_of
    from inweights.lm.tuning.cost import least_seconds as least_seconds
    from inweights.lm.tuning.epochs import score_epochs as score_epochs
    from inweights.lm.tuning.fine_tune import DEFAULT as DEFAULT
    from inweights.lm.tuning.fine_tune import FineTune as FineTune
    from inweights.lm.tuning.job import finetune_to as finetune_to
    from inweights.lm.tuning.tuning import FineTuned as FineTuned
    from inweights.lm.tuning.tuning import finetune as finetune
    from inweights.lm.tuning.writing import own_text as own_text
    from inweights.lm.tuning.writing import paraphraser as paraphraser

lazily(__name__)
