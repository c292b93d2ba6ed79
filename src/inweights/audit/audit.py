"""What a set of facts lets a model conclude, and what stands in the way: an audit of triples.

Everything here is counted, from the triples alone; only the forecast solves a program. All of it is
joins and group-bys, so that 100,000 triples take seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from inweights.errors import InweightsError
from inweights.theory import Prediction, predict
from inweights.worlds.knowledge import Knowledge
from inweights.worlds.triples import world_of

__all__ = ["Audit", "audit"]

#: Sets with more entities than this are not forecast: the program's time grows with their cube.
FORECAST = 400
#: Chains and transfers beyond so many are counted, but not listed.
LISTED = 100_000


@dataclass(frozen=True, eq=False)
class Audit:
    """What :func:`audit` found; every attribute but the last three is a table.

    Attributes:
        knowledge: The facts.
        relations: A row a relation: ``triples``, ``subjects``, ``objects``, ``values`` (mean number
            a subject has), ``most_common`` (the value that most subjects have) and ``share`` (how
            many have it: what one may guess from the relation alone).
        compositions: A row for each pair of relations that chain: ``first``, ``second``,
            ``chains``, ``subjects``, ``bridges``, ``answers``, ``complexity`` (most objects that
            one subject reaches under the second relation, by whatever first), ``expected`` (mean of
            one over that number), ``stated`` (chains whose answer is a fact of its own),
            ``share`` (answers that are the most common one).
        bridges: A row for each entity that ends one triple and begins another: ``entity``,
            ``incoming``, ``outgoing``, ``identity`` (whether a triple leads from it to itself).
        transfers: A row for each pair of relations ``shared`` and ``attribute``: ``pairs`` of
            entities that share a value of the one, where only one of the two has the other:
            what may be transferred by analogy, rightly or not; ``late`` counts those whose
            shared value is learnt in a later stage than the attribute.
        leaks: Composed answers that are stated outright: ``subject``, ``first``, ``bridge``,
            ``second``, ``answer``, ``fact``, ``line``.
        names: A row a relation: ``contained``, the share of its triples whose object's name is part
            of the subject's, or the other way round: answers that may be read off the name.
        ends: How many entities only begin triples, only end them, or do both.
        forecast: What :func:`inweights.predict` says, or none.
        why_no_forecast: Why there is none.
        seconds: Time taken.
    """

    knowledge: Knowledge
    relations: pl.DataFrame
    compositions: pl.DataFrame
    bridges: pl.DataFrame
    transfers: pl.DataFrame
    leaks: pl.DataFrame
    names: pl.DataFrame
    ends: dict[str, int]
    forecast: Prediction | None
    why_no_forecast: str
    seconds: float


def audit(
    knowledge: Knowledge,
    *,
    forecast: bool = True,
    seconds: float = 60.0,
    progress: Callable[[str, int, float], None] | None = None,
) -> Audit:
    """Audit a set of triples.

    Args:
        knowledge: The facts, as :func:`inweights.worlds.read_knowledge` reads them.
        forecast: Whether to forecast every composition, where the set is small enough.
        seconds: Time limit of each solution of the forecast.
        progress: Told about the forecast.

    Example:
        >>> from inweights.worlds import read_knowledge
        >>> found = audit(read_knowledge("@people"), forecast=False)
        >>> found.compositions.select("first", "second", "chains", "complexity").rows()
        [('born_in', 'country', 35, 1), ('country', 'currency', 35, 1)]
        >>> found.bridges.height, found.bridges["identity"].any()
        (55, False)
    """
    began = time.perf_counter()
    facts = knowledge.frame()
    bridges = _bridges(facts)
    chains = _chains(facts)
    made, why = None, "not asked for"
    if forecast and not chains.height:
        why = "no two facts chain"
    elif forecast and len(knowledge.entities) > FORECAST:
        why = f"{len(knowledge.entities)} entities; a forecast covers up to {FORECAST}"
    elif forecast:
        try:
            made, why = _forecast(knowledge, seconds, progress), ""
        except InweightsError as error:
            why = str(error)
    return Audit(
        knowledge=knowledge,
        relations=_relations(facts),
        compositions=_compositions(facts, chains),
        bridges=bridges,
        transfers=_transfers(facts),
        leaks=_leaks(facts, chains),
        names=_names(facts),
        ends=_ends(facts),
        forecast=made,
        why_no_forecast=why,
        seconds=time.perf_counter() - began,
    )


def _forecast(
    knowledge: Knowledge, seconds: float, progress: Callable[[str, int, float], None] | None
) -> Prediction:
    world = world_of(knowledge, identity=_stated_identities(knowledge))
    return predict(world, answers="several", seconds=seconds, progress=progress)


def _stated_identities(knowledge: Knowledge) -> list[int]:
    """Entities with a triple that leads from them to themselves."""
    subject, _, thing = knowledge.triples.T
    return sorted(set(subject[subject == thing].tolist()))


def _relations(facts: pl.DataFrame) -> pl.DataFrame:
    counts = facts.group_by("relation", "object").len()
    common = counts.sort("len", "object", descending=[True, False]).group_by(
        "relation", maintain_order=True
    )
    most = common.agg(pl.col("object").first().alias("most_common"), pl.col("len").first())
    return (
        facts.group_by("relation", maintain_order=True)
        .agg(
            triples=pl.len(),
            subjects=pl.col("subject").n_unique(),
            objects=pl.col("object").n_unique(),
        )
        .with_columns(values=pl.col("triples") / pl.col("subjects"))
        .join(most, on="relation", how="left", maintain_order="left")
        .with_columns(share=pl.col("len") / pl.col("subjects"))
        .drop("len")
    )


def _chains(facts: pl.DataFrame) -> pl.DataFrame:
    """All pairs of triples that meet; a triple from an entity to itself bridges nothing."""
    real = facts.filter(pl.col("subject") != pl.col("object"))
    one = real.select("subject", first="relation", bridge="object")
    other = real.select(bridge="subject", second="relation", answer="object")
    return one.join(other, on="bridge", how="inner", maintain_order="left").unique(
        ["subject", "first", "second", "answer", "bridge"], maintain_order=True
    )


def _compositions(facts: pl.DataFrame, chains: pl.DataFrame) -> pl.DataFrame:
    reached = chains.group_by("subject", "second").agg(fan=pl.col("answer").n_unique())
    common = chains.group_by("first", "second", "answer").len()
    most = common.group_by("first", "second").agg(most=pl.col("len").max())
    stated = (
        chains.join(
            facts.select("subject", answer="object").unique(), on=["subject", "answer"], how="semi"
        )
        .group_by("first", "second")
        .agg(stated=pl.len())
    )
    return (
        chains.join(reached, on=["subject", "second"], how="left", maintain_order="left")
        .group_by("first", "second", maintain_order=True)
        .agg(
            chains=pl.len(),
            subjects=pl.col("subject").n_unique(),
            bridges=pl.col("bridge").n_unique(),
            answers=pl.col("answer").n_unique(),
            complexity=pl.col("fan").max(),
            expected=(1.0 / pl.col("fan")).mean(),
        )
        .join(stated, on=["first", "second"], how="left", maintain_order="left")
        .join(most, on=["first", "second"], how="left", maintain_order="left")
        .with_columns(pl.col("stated").fill_null(0), share=pl.col("most") / pl.col("chains"))
        .drop("most")
        .sort("chains", descending=True, maintain_order=True)
    )


def _bridges(facts: pl.DataFrame) -> pl.DataFrame:
    real = facts.filter(pl.col("subject") != pl.col("object"))
    loops = facts.filter(pl.col("subject") == pl.col("object"))["subject"].unique()
    incoming = real.group_by("object", maintain_order=True).agg(incoming=pl.len())
    outgoing = real.group_by("subject").agg(outgoing=pl.len())
    return (
        incoming.join(outgoing, left_on="object", right_on="subject", maintain_order="left")
        .rename({"object": "entity"})
        .with_columns(identity=pl.col("entity").is_in(loops.implode()))
        .sort("incoming", "outgoing", descending=True, maintain_order=True)
    )


def _ends(facts: pl.DataFrame) -> dict[str, int]:
    subjects, objects = set(facts["subject"]), set(facts["object"])
    return {
        "subject only": len(subjects - objects),
        "object only": len(objects - subjects),
        "both": len(subjects & objects),
    }


def _leaks(facts: pl.DataFrame, chains: pl.DataFrame) -> pl.DataFrame:
    stated = facts.select("subject", "relation", "fact", "line", answer="object")
    return (
        chains.join(stated, on=["subject", "answer"], how="inner", maintain_order="left")
        .rename({"relation": "stated_as"})
        .head(LISTED)
    )


def _names(facts: pl.DataFrame) -> pl.DataFrame:
    one, other = pl.col("subject").str.to_lowercase(), pl.col("object").str.to_lowercase()
    inside = one.str.contains(other, literal=True) | other.str.contains(one, literal=True)
    return facts.group_by("relation", maintain_order=True).agg(contained=inside.mean())


def _transfers(facts: pl.DataFrame) -> pl.DataFrame:
    """Pairs of entities that share a value, where one has a relation that the other has not.

    Within a group of ``g`` entities that share a value, ``h`` of which have the relation, there
    are ``h (g - h)`` such pairs: counted, never listed.
    """
    real = facts.filter(pl.col("subject") != pl.col("object"))
    groups = real.select("subject", "stage", shared="relation", value="object")
    size = groups.group_by("shared", "value").agg(g=pl.col("subject").n_unique())
    several = size.filter(pl.col("g") > 1)
    held = real.group_by("subject", attribute="relation").agg(learnt=pl.col("stage").min())
    members = groups.join(several, on=["shared", "value"])
    # One row for each member of a group and relation that it has.
    having = members.join(held, on="subject").filter(pl.col("shared") != pl.col("attribute"))
    late = pl.col("stage") > pl.col("learnt")
    return (
        having.group_by("shared", "attribute", "value", "g")
        .agg(h=pl.col("subject").n_unique(), late=late.any())
        .with_columns(pairs=pl.col("h") * (pl.col("g") - pl.col("h")))
        .group_by("shared", "attribute")
        .agg(
            groups=pl.len(),
            pairs=pl.col("pairs").sum(),
            late=pl.col("pairs").filter(pl.col("late")).sum(),
        )
        .filter(pl.col("pairs") > 0)
        .sort("pairs", "shared", "attribute", descending=[True, False, False])
    )
