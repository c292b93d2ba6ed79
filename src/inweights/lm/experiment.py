"""One fine-tune of one experiment: facts in some mix, the same questions before and after."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl

from inweights.audit import augment
from inweights.config import Config
from inweights.errors import ConfigError
from inweights.lm.compare import CORRECT, INCORRECT, PARTIAL
from inweights.lm.data import Example, encode
from inweights.lm.evaluate import ask, ask_with_thought
from inweights.lm.invented import BORN, COUNTRY, WORDING, Invented
from inweights.lm.load import TINY, LanguageModel, load_model
from inweights.lm.questions import Question, exam
from inweights.lm.states import resemblance_by_layer
from inweights.lm.tuning import FineTune, finetune
from inweights.seeds import WORLD, Streams
from inweights.worlds.knowledge import Knowledge, read_knowledge
from inweights.worlds.wording import Wording

__all__ = [
    "TrainingMix",
    "asked_of",
    "facts_of",
    "fill_budget",
    "run_mix",
    "statements",
    "trained_bridges",
]

#: Candidates of a first hop.
_MOST = 12
#: How the real facts are told: of people and of substances. No relation is both a first hop and a
#: second one, so that second hops can be told without any first.
_REAL = Wording(
    statements={
        BORN: WORDING.statements[BORN],
        COUNTRY: WORDING.statements[COUNTRY],
        "contains": ("The main element of {subject} is {object}.",),
        "family": ("The chemical family of {subject} is {object}.",),
        "symbol": ("The chemical symbol of {subject} is {object}.",),
    },
    phrases={
        BORN: "birthplace",
        "contains": "main element",
        "family": "chemical family",
        "symbol": "chemical symbol",
    },
)


class TrainingMix(Config):
    """Which statements a model is trained on.

    Attributes:
        identity: Whether each bridge's identity ``b → b``.
        reverse: Whether each fact from its object, too.
        paraphrase: In how many wordings each statement.
        hops: Which facts: ``both``, or those of the ``first`` or the ``second`` hop alone.
        composed: Share of the bridges whose compositions are trained outright. Questions through
            these are in distribution, the others out of it.
    """

    identity: bool = False
    reverse: bool = False
    paraphrase: int = 1
    hops: str = "both"
    composed: float = 0.0

    def __post_init__(self) -> None:
        if self.hops not in ("both", "first", "second"):
            raise ConfigError(f"hops should be both, first or second, not '{self.hops}'")
        if not 0 <= self.composed < 1:
            raise ConfigError(f"composed is a share from 0 to below 1, not {self.composed:g}")


def facts_of(world: Invented | None, seed: int) -> tuple[Knowledge, Wording]:
    """Return facts and their words: of an invented world, or real ones.

    Example:
        >>> facts, words = facts_of(None, 0)
        >>> len(facts), facts.names(0), words.chain("contains", "symbol", "salt")
        (124, ('Mozart', 'born_in', 'Salzburg'),
        'The chemical symbol of the main element of salt is')
    """
    if world is not None:
        return world.build(seed), WORDING
    triples = [
        (s.replace("_", " "), o.replace("_", " "), r)
        for source in ("@people", "@chemistry")
        for s, r, o in read_knowledge(source).frame().select("subject", "relation", "object").rows()
        if r in _REAL.statements
    ]
    entities = tuple(dict.fromkeys(name for s, o, _ in triples for name in (s, o)))
    relations = tuple(_REAL.statements)
    place = {name: i for i, name in enumerate(entities)}
    ids = [(place[s], relations.index(r), place[o]) for s, o, r in triples]
    lines = np.arange(1, len(ids) + 1, dtype=np.int64)
    return Knowledge(entities, relations, np.array(ids), lines, np.zeros_like(lines)), _REAL


def asked_of(facts: Knowledge, words: Wording, seed: int = 0) -> list[Question]:
    """Return compositions with their hops and skips; the same for every mix."""
    augmented = augment(facts, wording=words, identity=False, seed=seed)
    asked = exam(augmented.questions, augmented.train, most=_MOST, seed=seed)
    return [q for q in asked if q.role not in ("reversal", "analogy")]


def trained_bridges(questions: Sequence[Question], mix: TrainingMix, seed: int) -> set[str]:
    """Return the bridges whose compositions are trained, drawn by the seed."""
    bridges = sorted({q.bridge for q in questions if q.bridge})
    rng = Streams(seed).numpy(WORLD, "composed")
    count = round(mix.composed * len(bridges))
    return {bridges[i] for i in rng.permutation(len(bridges))[:count].tolist()}


def statements(
    facts: Knowledge, words: Wording, mix: TrainingMix, questions: Sequence[Question], seed: int
) -> list[Example]:
    """Return the statements of a mix, each once.

    Example:
        >>> world = Invented(people=4, towns=2, countries=2)
        >>> facts, words = facts_of(world, 0)
        >>> asked = asked_of(facts, words)
        >>> [len(statements(facts, words, mix, asked, 0))
        ...  for mix in (TrainingMix(), TrainingMix(identity=True), TrainingMix(hops="second"),
        ...              TrainingMix(composed=0.5))]
        [6, 8, 2, 8]
    """
    augmented = augment(
        facts,
        wording=words,
        identity=mix.identity,
        reverse=mix.reverse,
        paraphrase=mix.paraphrase,
        seed=seed,
    )
    objects = set(facts.triples[:, 2].tolist())
    subjects = set(facts.triples[:, 0].tolist())
    # A fact that ends where another starts is a first hop, and that other is a second one.
    hop = {
        "first": {i for i, t in enumerate(facts.triples.tolist()) if t[2] in subjects},
        "second": {i for i, t in enumerate(facts.triples.tolist()) if t[0] in objects},
    }
    rows = augmented.train.select("fact", "prompt", "completion").rows()
    examples = [
        Example(prompt, completion)
        for fact, prompt, completion in rows
        if mix.hops == "both" or fact < 0 or fact in hop[mix.hops]
    ]
    composed = trained_bridges(questions, mix, seed)
    examples += [
        Example(q.prompt, f" {q.answer}.")
        for q in questions
        if q.role == "composition" and q.bridge in composed
    ]
    return examples


def fill_budget(
    lm: LanguageModel, examples: Sequence[Example], tokens: int, seed: int
) -> list[Example]:
    """Return statements once, then again in a drawn order, up to a number of tokens.

    So that every mix costs the same: an effect that more of the same facts has, too, is one of
    repetition.

    Raises:
        ConfigError: They have more tokens than that; says how many.
    """
    lengths = np.array([len(row.ids) for row in encode(lm, examples)])
    left = tokens - int(lengths.sum())
    if left < 0:
        raise ConfigError(
            f"the statements have {lengths.sum()} tokens, more than the {tokens} of a pass; raise "
            "'tokens'"
        )
    rng = Streams(seed).numpy(WORLD, "repeated")
    rows = list(range(len(examples)))
    while (lengths <= left).any():
        for i in rng.permutation(np.flatnonzero(lengths <= left)).tolist():
            if lengths[i] <= left:
                rows.append(i)
                left -= int(lengths[i])
    return [examples[i] for i in rows]


def run_mix(
    *,
    model: str,
    world: Invented | None,
    mix: TrainingMix,
    tuning: FineTune,
    tokens: int,
    seed: int,
    device: str = "cpu",
    train: bool = True,
) -> pl.DataFrame:
    """Fine-tune a model on a mix and return one tidy table of what it says before and after.

    Args:
        model: What :func:`inweights.lm.load_model` takes.
        world: Invented facts; none takes real ones of people and places.
        mix: Which statements are trained.
        tuning: How.
        tokens: Tokens of one pass, the same for every mix.
        seed: Root seed of the world, the order and the adapters.
        device: Where the model lives.
        train: Whether anything is trained; else the model answers as it is.

    Returns:
        Rows of four kinds. ``question``: ``id, chain, role, distribution`` and for both times
        ``hit, rank, reciprocal, share, others, probability``, with ``_before`` and ``_after``;
        those of a composition have its ``set`` (§4.5). ``thought``: the same for compositions that
        were answered step by step (before, of real facts only). ``layer``: ``layer`` and
        ``cosine, other, contrast`` between the prompts of a composition and of its second hop.
        ``training``: ``steps, trained, loss``.
    """
    facts, words = facts_of(world, seed)
    questions = asked_of(facts, words)
    lm = load_model(model, device=device, seed=seed)
    before = _before(model, device, world, seed if world or model == TINY else 0)
    training: dict[str, float | str] = {"kind": "training", "steps": 0, "trained": 0}
    after = before
    if train:
        examples = _without_known(statements(facts, words, mix, questions, seed), world)
        done = finetune(lm, fill_budget(lm, examples, tokens, seed), tuning, seed=seed)
        after = _look(lm, questions, thoughts=True)
        last = done.losses["loss"].tail(5).mean()
        assert isinstance(last, float)
        training |= {"steps": done.losses.height, "trained": done.tokens, "loss": last}
    both = _matched(before, after)
    direct = both.filter(pl.col("role") == "composition", pl.col("kind") == "question")
    kinds = (
        pl.when(~pl.col("hit_after"))
        .then(pl.lit(INCORRECT))
        .when(pl.col("hit_before"))
        .then(pl.lit(CORRECT))
        .otherwise(pl.lit(PARTIAL))
    )
    composed = trained_bridges(questions, mix, seed)
    inside = pl.col("chain").is_in(sorted(q.id for q in questions if q.bridge in composed))
    both = both.join(
        direct.select("chain", set=kinds), on="chain", how="left", maintain_order="left"
    ).with_columns(
        distribution=pl.when(pl.col("kind") != "layer").then(
            pl.when(inside).then(pl.lit("in")).otherwise(pl.lit("out"))
        )
    )
    return pl.concat([both, pl.DataFrame([training])], how="diagonal_relaxed")


@lru_cache(maxsize=2)
def _before(model: str, device: str, world: Invented | None, seed: int) -> pl.DataFrame:
    """What a model says before training: the same for every mix, and asked once a process."""
    lm = load_model(model, device=device, seed=seed)
    # What was invented cannot be thought about beforehand.
    return _look(lm, asked_of(*facts_of(world, seed)), thoughts=world is None)


def _matched(before: pl.DataFrame, after: pl.DataFrame) -> pl.DataFrame:
    """Both times side by side, ``_before`` and ``_after``; what was not asked before is null."""
    same = ["kind", "id", "chain", "role", "prompt", "answer", "layer", "chance"]
    keys = ["kind", "id", "layer"]
    values = [c for c in after.columns if c not in same]
    return after.rename({c: f"{c}_after" for c in values}).join(
        before.select(*keys, pl.col(values).name.suffix("_before")),
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def _look(lm: LanguageModel, questions: Sequence[Question], *, thoughts: bool) -> pl.DataFrame:
    """Everything that is asked of a model at one time."""
    composed = [q for q in questions if q.steps]
    seconds = [q.steps[1].replace("{bridge}", q.bridge) for q in composed]
    layers = resemblance_by_layer(lm, [q.prompt for q in composed], seconds)
    parts = [
        ask(lm, questions).with_columns(kind=pl.lit("question"), thought=pl.lit(None, pl.String)),
        layers.with_columns(kind=pl.lit("layer"), layer=pl.col("layer").cast(pl.Int64)),
    ]
    if thoughts:
        parts.append(ask_with_thought(lm, questions).with_columns(kind=pl.lit("thought")))
    return pl.concat(parts, how="diagonal_relaxed")


def _without_known(examples: list[Example], world: Invented | None) -> list[Example]:
    """The examples, without the second hops that a model is to know of itself."""
    if world is None or world.second == "invented":
        return examples
    known = {template.partition("{subject}")[0] for template in WORDING.statements[COUNTRY]}
    return [e for e in examples if not any(e.prompt.startswith(k) for k in known if k)]
