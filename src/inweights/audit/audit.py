"""Audit triples: find which conclusions a model can draw from the facts, and explain why.

:func:`audit` collects the tables of :mod:`inweights.audit.counts` and a prediction in
an :class:`Audit`, which :mod:`inweights.audit.findings` describes in sentences. All
tables are computed with joins and group-bys, so that the audit of 100,000 triples takes
only seconds, apart from the prediction.
"""

import time
from dataclasses import dataclass

import polars as pl

from inweights.audit.counts import chains as chain_tables
from inweights.audit.counts import shortcuts
from inweights.audit.homonyms import Contradicted, contradicted_chains
from inweights.audit.prediction.forecast import forecast as forecast_of
from inweights.audit.questions.held_out import worded
from inweights.audit.questions.kinds import of_one_each
from inweights.errors import InweightsError
from inweights.support.progress import Progress, SolverProgress
from inweights.theory import Prediction
from inweights.theory.prediction.parts_in_time import check_seconds
from inweights.worlds.knowledge.checks.names import literals
from inweights.worlds.knowledge.knowledge import Knowledge
from inweights.worlds.knowledge.triples import identities_of
from inweights.worlds.knowledge.words.wording import Wording

_PARTS = ("chains", "compositions", "leaks and analogies", "shortcuts", "forecast")


@dataclass(frozen=True, eq=False)
class Audit:
    """Result of :func:`audit`: tables, examples and a prediction for a set of facts.

    Attributes:
        knowledge: The facts that were audited.
        relations: One row per relation, in the order of the file: ``relation`` (its
            name), ``triples`` (number of facts), ``subjects`` and ``objects`` (numbers
            of distinct entities), ``values`` (mean number of objects per subject),
            ``most_common`` (the object that most subjects have) and ``share`` (the
            fraction of the subjects that have this object, which is the accuracy of a
            model that always answers with it).
        compositions: One row per pair of relations that form chains, in descending
            order of the number of chains: ``first``, ``second`` (names of the
            relations), ``chains`` (exact number of chains), ``subjects``, ``bridges``,
            ``answers`` (numbers of distinct entities in these positions of the chains),
            ``complexity`` (largest number of objects that one subject reaches through
            any first relation followed by ``second``), ``expected`` (mean, over the
            chains, of 1 / ``n``, where ``n`` is the number of objects that the subject
            of the chain reaches in this way), ``stated`` (number of chains whose answer
            is the object of a fact about the same subject) and ``share`` (fraction of
            the chains that end in the most common answer). All columns except
            ``chains`` are computed from the listed chains.
        listed: Fraction of all chains that were listed. It is below 1 if there are more
            than a million chains, and 1 if there are none.
        bridges: One row per entity that is the object of one fact and the subject of
            another, in descending order of ``incoming``: ``entity``, ``incoming`` and
            ``outgoing`` (numbers of facts) and ``identity`` (whether its identity
            statement, ``b → b``, is among the facts).
        transfers: One row per pair of relations that suggests analogies, in descending
            order of ``pairs``. In such an analogy, two entities have the same value of
            the relation ``shared``, but only one of them has a value of the relation
            ``attribute``; a model may infer, correctly or not, that the other entity
            has the same value. Columns: ``shared``, ``attribute``, ``groups`` (number
            of values of ``shared``), ``pairs`` (number of pairs of entities) and
            ``late`` (number of those pairs for which the shared value is learned in a
            later stage than the attribute). Relations whose values are dates, numbers
            or unique to a subject are left out.
        leaks: One row for each pair of a listed chain and a fact that directly states
            the answer of the chain: ``subject``, ``first``, ``bridge``, ``second``,
            ``answer``, ``stated_as`` (relation of the direct fact), ``fact`` (its
            index) and ``line`` (its line in the file).
        name_overlap: One row per relation: ``relation`` and ``contained``, the fraction
            of the relation's facts in which the name of the object is part of the
            subject's name, or vice versa, so that the answer can be inferred from the
            name.
        samples: Examples of how :func:`~inweights.audit.augment` words facts and
            questions, at most three for each relation and for each kind of question:
            ``role`` (``fact: RELATION``, or the kind of question), ``text``,
            ``answer``.
        contradicted: Chains whose end contradicts another fact of the file, which
            suggests that two entities have the same name. Each entry contains the
            indices of the three facts
            (:class:`~inweights.audit.homonyms.Contradicted`).
        entity_positions: Number of entities under each of the keys ``subject only``,
            ``object only`` and ``both``. Under ``literal``, the number of dates and
            numbers among the objects, which are not counted as entities.
        forecast: Result of :func:`inweights.predict` for the facts, or for a part of
            them if there are many; ``None`` if there is no prediction.
        why_no_forecast: Reason why there is no prediction; empty if there is one.
        seconds: Time that the audit took, in seconds.
    """

    knowledge: Knowledge
    relations: pl.DataFrame
    compositions: pl.DataFrame
    listed: float
    bridges: pl.DataFrame
    transfers: pl.DataFrame
    leaks: pl.DataFrame
    name_overlap: pl.DataFrame
    samples: pl.DataFrame
    contradicted: list[Contradicted]
    entity_positions: dict[str, int]
    forecast: Prediction | None
    why_no_forecast: str
    seconds: float


def audit(
    knowledge: Knowledge,
    *,
    forecast: bool = True,
    seconds: float = 60.0,
    wording: Wording | None = None,
    progress: SolverProgress | None = None,
    watch: Progress | None = None,
) -> Audit:
    """Count the compositions of triples and predict which questions a model answers.

    Args:
        knowledge: The facts, as :func:`inweights.worlds.read_knowledge` reads them.
        forecast: Whether to predict which questions a trained model answers correctly.
            If there are more facts than the solver can process within ``seconds``, the
            prediction covers a part of them.
        seconds: Time limit of the prediction, in seconds, from 0 to 10,000,000. The
            other parts of the audit have no time limit.
        wording: Sentence templates and kinds of relations. Templates and kinds that it
            does not contain are taken from the file, or are generic if the file does
            not define them. If it is ``None``, all templates and kinds are determined
            in this way.
        progress: Called during the prediction with a description, the number of
            iterations and the relative gap; ``None`` disables progress reporting.
        watch: Called before each part of the audit with the number of finished parts,
            the number of all parts (5), and the name of the next part; ``None``
            disables these calls.

    Returns:
        The tables of the audit, with the prediction or the reason why there is none. If
        the library raises an error during the prediction, the error is caught and its
        message becomes ``why_no_forecast``.

    Raises:
        ConfigError: ``seconds`` is not a number from 0 to 10,000,000, even if
            ``forecast`` is False.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> found = audit(read_knowledge("@people"), forecast=False)
        >>> found.compositions.select("first", "second", "chains", "complexity").rows()
        [('born_in', 'country', 35, 1), ('country', 'currency', 35, 1)]
        >>> found.bridges.height, found.bridges["identity"].any()
        (55, False)
    """
    check_seconds(seconds)
    began = time.perf_counter()

    def begin(part: int) -> None:
        if watch:
            watch(part, len(_PARTS), _PARTS[part])

    begin(0)
    facts = knowledge.frame()
    words = (wording or Wording()).over(knowledge)
    is_identity = pl.Series(identities_of(knowledge))
    linking = facts.filter(~is_identity)
    identities = facts.filter(is_identity)["subject"].unique()
    bridges = chain_tables.bridges(linking, identities)
    exact = chain_tables.chain_counts(linking)
    chains, listed = chain_tables.chains_in(linking)
    begin(1)
    compositions = chain_tables.compositions(facts, chains, exact)
    begin(2)
    leaks = shortcuts.leaks(facts, chains)
    transfers = _count_transfers(knowledge, facts, words)
    begin(3)
    relations = chain_tables.relations(facts)
    overlap = shortcuts.name_overlap(facts)
    prediction = None
    why = "no two facts form a chain" if forecast else "not requested"
    if forecast and exact.height:
        begin(4)
        try:
            prediction = forecast_of(knowledge, seconds=seconds, progress=progress)
            why = ""
        except InweightsError as error:
            why = str(error)
    return Audit(
        knowledge=knowledge,
        relations=relations,
        compositions=compositions,
        listed=listed,
        bridges=bridges,
        transfers=transfers,
        leaks=leaks,
        name_overlap=overlap,
        samples=worded(knowledge, words),
        contradicted=contradicted_chains(knowledge, words),
        entity_positions=chain_tables.entity_positions(knowledge),
        forecast=prediction,
        why_no_forecast=why,
        seconds=time.perf_counter() - began,
    )


def _count_transfers(
    knowledge: Knowledge, facts: pl.DataFrame, words: Wording
) -> pl.DataFrame:
    """Count analogies between entities; dates, numbers and identifying values are ignored."""
    plain = literals(knowledge.entities, knowledge.triples)[knowledge.triples[:, 2]]
    identifying = [knowledge.relations[r] for r in of_one_each(knowledge, words)]
    return shortcuts.transfers(facts.filter(~pl.Series(plain)), identifying)
