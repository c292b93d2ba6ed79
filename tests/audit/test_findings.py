"""The result of an audit: the headline, and recommended actions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import polars as pl
import pytest

from inweights.audit import Audit, audit, findings, headline, outlook
from inweights.audit.findings import _asserted, _bridges, _late, _some
from inweights.audit.homonyms import contradicted_chains
from inweights.worlds import read_knowledge
from inweights.worlds.knowledge.words.wording import Wording
from inweights.worlds.readers.remark import Remark


def audited(
    tmp_path: Path, *rows: str, header: str = "", forecast: bool = True
) -> Audit:
    path = tmp_path / "facts.csv"
    path.write_text(
        "\n".join([*([header] if header else []), *rows]) + "\n", encoding="utf-8"
    )
    return audit(read_knowledge(path), forecast=forecast)


PLACES = (
    "ann,home,rome",
    "bob,home,oslo",
    "cid,home,bonn",
    "rome,in,italy",
    "oslo,in,norway",
    "bonn,in,germany",
)


def test_the_headline_counts_questions(tmp_path: Path) -> None:
    assert headline(audited(tmp_path, *PLACES)) == (
        "0 of 3 two-step questions follow; with 3 identities 3 would"
    )


def test_what_was_assumed_about_the_file_is_a_finding(tmp_path: Path) -> None:
    made = audited(tmp_path, *PLACES, forecast=False)
    guess = Remark(kind="header", lines=(1,), text="the first row is taken as a fact")
    certain = Remark(
        kind="format", lines=(), text="columns are separated by commas", sure=True
    )
    read = replace(made.knowledge, reading=(guess, certain))
    notes = {
        f.title: f.text
        for f in findings(replace(made, knowledge=read))
        if f.level == "note"
    }
    assert notes["How the file was read"] == "the first row is taken as a fact."
    none = replace(made.knowledge, reading=(certain,))
    titles = {finding.title for finding in findings(replace(made, knowledge=none))}
    assert "How the file was read" not in titles


def test_without_a_forecast(tmp_path: Path) -> None:
    made = audited(tmp_path, *PLACES, forecast=False)
    assert headline(made) == (
        "3 two-step questions (3 chains of two facts); 3 bridges have no identity"
    )
    row = outlook(made).row(0, named=True)
    assert (row["chains"], row["questions"], row["expected"]) == (3, None, 1.0)
    assert headline(audited(tmp_path, "a,r,b")).startswith("No two facts form a chain")


def test_the_outlook_adds_up(tmp_path: Path) -> None:
    made = audited(tmp_path, *PLACES, "rome,is,rome")
    found = outlook(made)
    assert made.forecast is not None
    for column, verdict in (("follow", "follows"), ("tied", "tied"), ("fail", "fails")):
        rows = found.select("first", "second", column).rows()
        for first, second, count in rows:
            asked = made.forecast.queries.filter(
                (made.forecast.queries["verdict"] == verdict)
                & made.forecast.queries["prompt"].str.ends_with(f" {first} {second}")
            )
            assert asked.height == count
    # Through Rome.
    assert dict(zip(found["second"], found["follow"], strict=True))["in"] == 1


@pytest.mark.parametrize(
    ("rows", "header", "level", "title"),
    [
        ([*PLACES, "ann,from,italy"], "", "act", "1 composed answer stated directly"),
        ([*PLACES, "rome,was,n/a"], "", "act", "1 placeholder in place of a name"),
        ([*PLACES, "ann,home,rome"], "", "note", "1 fact stated again"),
        (
            [*PLACES, "ROME,river,tiber"],
            "",
            "act",
            "1 set of names that may mean the same entity",
        ),
        (
            ["a,eats,nuts,2", "b,eats,nuts,2", "a,sings,songs,1"],
            "subject,relation,object,stage",
            "act",
            "Analogies in the wrong order",
        ),
        (
            ["a,r,x", "a,r,y", "x,s,u", "y,s,v"],
            "",
            "note",
            "1 pair of relations with several answers per subject",
        ),
        (
            [*(f"p{i},in,asia" for i in range(6)), "asia,part,earth"],
            "",
            "note",
            "1 shortcut",
        ),
        # Five is the smallest number of subjects that is examined.
        ([f"p{i},in,asia" for i in range(5)], "", "note", "1 shortcut"),
        (
            ["a,r,a", "x,s,a", "a,t,z"],
            "",
            "good",
            "Every bridge has its identity statement",
        ),
    ],
)
def test_what_is_found(
    tmp_path: Path, rows: list[str], header: str, level: str, title: str
) -> None:
    found = findings(audited(tmp_path, *rows, header=header, forecast=False))
    assert (level, title) in [(f.level, f.title) for f in found]
    clean = findings(audited(tmp_path, *PLACES, forecast=False))
    assert title not in [f.title for f in clean]


def test_what_is_to_be_done_comes_first(tmp_path: Path) -> None:
    found = findings(audited(tmp_path, *PLACES, "ann,home,rome"))
    assert [f.level for f in found] == ["act", "note", "note"]
    told = "With 3 identities, the number of questions that follow increases by 3 (all kinds)."
    assert told in found[0].text


def test_the_relations_with_most_late_analogies_are_named() -> None:
    columns = {"shared": ["in", "on"], "attribute": ["job", "age"], "late": [1, 7]}
    more = pl.DataFrame(columns).with_columns(groups=1, pairs=pl.col("late"))
    (found,) = _late(cast("Audit", SimpleNamespace(transfers=more)))
    assert found.text.startswith("8 pairs of entities, most with on after age")


def test_names_that_may_be_misspelt_are_told_without_a_copy(tmp_path: Path) -> None:
    people = ("Marta Ilves", "Jonas Reuter", "Priya Nair", "Otto Krantz", "Lena Sorrel")
    rows = [f"{who},office,Tartu" for who in people]
    rows += [f"{who},reports to,Marta Ilves" for who in people[1:]]
    made = audited(
        tmp_path, *rows, "Marta Ilvse,reports to,Lena Sorrel", forecast=False
    )
    (near,) = (f for f in findings(made) if f.title == "1 name that may be misspelt")
    assert near.level == "act"
    assert near.text.startswith("'Marta Ilvse', 'Marta Ilves': 1 letter apart")
    assert near.text.endswith(". `--fix FOLDER --near` uses the second name.")


def test_the_statements_named_first_have_the_largest_margins() -> None:
    """Three of five asserted statements are named, and equal margins keep their order."""
    rows = [("p", 0.1), ("q", 0.7), ("r", 0.3), ("s", 0.7), ("t", 0.2)]
    queries = pl.DataFrame(
        {
            "verdict": ["asserted"] * 5 + ["follows"],
            "prompt": [*(name for name, _ in rows), "u"],
            "predicted": ["x"] * 6,
            "margin": [*(margin for _, margin in rows), 9.0],
        }
    )
    made = cast(Audit, SimpleNamespace(forecast=SimpleNamespace(queries=queries)))
    [finding] = _asserted(made)
    assert finding.title == "5 statements will be asserted without a fact"
    assert "Those with the largest margins are q → x; s → x; r → x." in finding.text


@pytest.mark.parametrize(
    ("rows", "count"),
    [
        # Most liked entities have a colour, as do those who like them.
        ("Ann,likes,Bob\nAnn,color,red\nBob,color,blue\n", 0),
        # One of three brands has an origin, so it may be an animal of the same name.
        (
            "Ann,brand,Jaguar\nBen,brand,Ford\nCat,brand,Opel\n"
            "Ann,origin,Britain\nJaguar,origin,Brazil\n",
            1,
        ),
    ],
)
def test_a_value_of_ones_own_is_no_contradiction(
    tmp_path: Path, rows: str, count: int
) -> None:
    path = tmp_path / "facts.csv"
    path.write_text(rows, encoding="utf-8")
    found = contradicted_chains(read_knowledge(path), Wording())
    assert len(found) == count


@pytest.mark.parametrize(
    ("mended", "broken", "most", "said"),
    [
        (
            2,
            0,
            (1, 2),
            "With 1 identity, the number of questions that follow increases by 2",
        ),
        (
            2,
            1,
            (1, 1),
            "With 1 identity, the number of questions that follow increases by 1",
        ),
        (2, 0, (2, 3), "(all kinds); with all 2 that could help, by 3."),
        (1, 1, (1, 0), ""),
        (0, 0, (1, 0), ""),
        (1, 2, (1, -1), ""),
    ],
)
def test_identities_are_counted_if_more_questions_follow_than_before(
    mended: int, broken: int, most: tuple[int, int], said: str
) -> None:
    """The number of helpful identities is stated only if it exceeds the advised number."""
    advice = SimpleNamespace(
        mended=range(mended),
        broken=range(broken),
        identities=("b",),
        most=most,
        status="certified",
    )
    bridges = pl.DataFrame({"identity": [False]})
    forecast = SimpleNamespace(advice=advice)
    made = SimpleNamespace(bridges=bridges, forecast=forecast)
    (finding,) = _bridges(cast("Audit", made))
    assert said in finding.text
    assert ("follow" in finding.text) == bool(said)
    assert ("could help" in finding.text) == (most[0] > 1)


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ("a", "a."),
        ("abc", "a, b, c."),
        ("abcd", "a, b, c … and 1 more."),
        ("abcde", "a, b, c … and 2 more."),
    ],
)
def test_three_texts_are_shown_and_the_others_counted(texts: str, told: str) -> None:
    assert _some(texts, ", ") == told
