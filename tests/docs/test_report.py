"""The reports take every number from ``results/``; a number in a template is an error."""

from __future__ import annotations

import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest

from inweights.errors import DataError

if find_spec("sphinx") is None:
    pytest.skip("install .[docs] to run", allow_module_level=True)

ROOT = Path(__file__).parents[2]
RECIPE = "beyond/positions-decide"
SENTENCE = (
    '{% set P = claims("beyond/positions-decide") %}'
    'Mamba finds few, {{ P.holds("mamba-of-the-code-fails") }}.'
)


@pytest.fixture(scope="module")
def reports():
    """Yield the package of the reports, which is not part of the library."""
    place = str(ROOT / "docs" / "_ext")
    sys.path.insert(0, place)
    import inweights_report

    yield inweights_report
    sys.path.remove(place)


@pytest.fixture(scope="module")
def evidence(reports):
    return reports.Evidence(ROOT / "results")


def with_scores(place: Path, numbers: dict[str, float]) -> Path:
    """Copy the results, and give every seed of the named claims one number."""
    results = place / "results"
    shutil.copytree(ROOT / "results", results)
    file = results / "scores" / "beyond.parquet"
    scores = pl.read_parquet(file)
    for claim, number in numbers.items():
        changed = pl.when(claim=f"{RECIPE}/{claim}").then(number).otherwise("number")
        scores = scores.with_columns(number=changed)
    scores.write_parquet(file)
    return results


@pytest.mark.parametrize("name", ["positions", "two-papers"])
def test_a_report_is_filled_and_has_no_number_of_its_own(
    reports, evidence, name: str
) -> None:
    source = (ROOT / "docs" / "report" / f"{name}.md").read_text("utf-8")
    assert list(reports.typed_numbers(source)) == []
    for typed in ("Accuracy is 0.93.", "Eight seeds agree.", "{{ 0.93 }}", "$x = .93$"):
        with pytest.raises(DataError, match="typed by hand"):
            reports.fill(name, evidence, f"{source}\n{typed}\n")


def test_text_follows_the_scores_and_may_not_contradict_them(
    reports, evidence, tmp_path
) -> None:
    stored = reports.fill("positions", evidence, SENTENCE).text
    assert stored == "Mamba finds few, 0.08 [0.00, 0.16]."
    changed = {"mamba-of-the-code-fails": 0.31, "untied-fails": 0.95}
    other = reports.Evidence(with_scores(tmp_path, changed))
    text = reports.fill("positions", other, SENTENCE).text
    assert text == "Mamba finds few, 0.31 [0.31, 0.31]."
    contradicted = SENTENCE.replace("mamba-of-the-code-fails", "untied-fails")
    with pytest.raises(DataError, match="the board has 'not reproduced'"):
        reports.fill("positions", other, contradicted)


def test_stored_tables_are_those_of_the_judged_run(evidence) -> None:
    final = evidence.stored("positions-decide", "final").sort("seed")
    scores = evidence.board.scores
    for short, model, condition, column in (
        ("small-positions-find", "GPT", "N(0, .02²)", "hardest"),
        ("long-tokens-have-no-geometry", "GPT", "tokens N(0, 1)", "nearest"),
        ("mamba-of-the-code-fails", "Mamba", "the code's", "hardest"),
    ):
        judged = scores.filter(claim=f"{RECIPE}/{short}").sort("seed")
        kept = final.filter(model=model, condition=condition)
        assert kept["seed"].to_list() == judged["seed"].to_list()
        assert kept[column].to_list() == pytest.approx(judged["number"].to_list())


@pytest.mark.slow
def test_pdf_and_page_are_written(reports, evidence, tmp_path, monkeypatch) -> None:
    assert reports.fill("two-papers", evidence).pictures
    report = reports.fill("positions", evidence)
    page = reports.web_page(report)
    assert 'src="http' not in page
    assert page.count("<img") > len(report.pictures) > 4
    if find_spec("typst") is not None:
        assert 8 <= reports.typeset(report, tmp_path / "a.pdf") <= 10
        reports.typeset(report, tmp_path / "b.pdf")
        assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
    monkeypatch.setitem(reports.typeset.__globals__, "find_spec", lambda _: None)
    with pytest.raises(reports.PDFToolMissingError, match="pip install typst"):
        reports.typeset(report, tmp_path / "c.pdf")
