"""Descriptions of the measured effects of strategies."""

from __future__ import annotations

from inweights.audit.strategies.measured import ASKED, MEASURED, evidence


def test_the_evidence_of_a_strategy_has_a_gain_for_each_kind_of_question() -> None:
    for name in {row.strategy for row in MEASURED}:
        kinds = [ASKED[row.asked] for row in MEASURED if row.strategy == name]
        parts = evidence(name).split("; ")
        assert [part.split(": ")[0] for part in parts] == kinds
    assert evidence("mine").startswith("not measured;")
