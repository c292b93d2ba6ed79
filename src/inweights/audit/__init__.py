"""Examine a user's own facts: find conclusions that a model can draw, and facts to add.

The main names are :func:`audit`, which counts chains, bridges and shortcuts in a set of
triples, :func:`mend`, which corrects the file, and :func:`augment`, which writes
training texts and held-out questions. The package reads facts with ``worlds.knowledge``
and predicts answers with ``theory``; the command line and the language-model
experiments use it.
"""

from inweights.audit.audit import Audit, audit
from inweights.audit.augment import Augmented, augment
from inweights.audit.correction.mend import Mended, mend, write_mended
from inweights.audit.findings import Finding, findings
from inweights.audit.outlook import headline, outlook
from inweights.audit.prediction.forecast import failing_chains, forecast, predict_source
from inweights.audit.questions.held_out import held_out
from inweights.audit.rows import token_counter
from inweights.audit.write import write_augmented
from inweights.support.border import guard_names

__all__ = [
    "Audit",
    "Augmented",
    "Finding",
    "Mended",
    "audit",
    "augment",
    "failing_chains",
    "findings",
    "forecast",
    "headline",
    "held_out",
    "mend",
    "outlook",
    "predict_source",
    "token_counter",
    "write_augmented",
    "write_mended",
]

guard_names(__name__, __all__)
