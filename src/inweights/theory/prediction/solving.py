"""Options of a prediction, in one object (:class:`Solving`).

``audit`` takes it as one argument; the command line has an option for each field.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Solving:
    """Options of the solvers that :func:`inweights.audit.predict_source` uses.

    The values are checked when they are used, not by this class.

    Attributes:
        answers: How facts with the same prompt and different answers are treated: with
            ``several``, all these answers are correct; with ``one``, the facts
            contradict each other, and an error is raised.
        decay: Weight decay of the training that is predicted, above 0. If it is
            ``None``, the prediction is for the limit of long training without decay,
            provided that all facts can be stored and the prompts of identities are
            single tokens. Otherwise, a small decay is used.
        gap: Relative duality gap to certify, at least 1e-7 and below 1.
        seconds: Time limit for all programs together, in seconds, from 0 to 10**7;
            solutions that are not finished in time are not certified.
        tie: Margins up to this absolute value are ties (facts have margin 1); at least
            0 and below 1.
        advise: Whether to search for identities, reversals and counter-examples that
            correct failing queries.
        state: File in which the state of a large program is stored, and from which an
            interrupted prediction continues. If empty, nothing is stored.
        intervals: Whether to compute for each margin an interval that is proved to
            contain the margin at every optimum. The proofs may take half of
            ``seconds``.
    """

    answers: str = "several"
    decay: float | None = None
    gap: float = 1e-3
    seconds: float = 60.0
    tie: float = 0.02
    advise: bool = True
    state: str = ""
    intervals: bool = False
