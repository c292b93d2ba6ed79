"""How facts of one's own are asked: of persons as persons, and no analogy to a name."""

from __future__ import annotations

import pytest

from inweights.audit import audit, augment
from inweights.errors import ConfigError
from inweights.worlds import Wording, read_knowledge

COMPANY = """Ann,mentor,Hugo
Bob,mentor,Ida
Ann,nickname,Annie
Bob,nickname,Bobby
Ann,office,Lyon
Bob,office,Lyon
Cid,office,Lyon
Ann,language,French
Bob,language,French
Hugo,spouse,Vera
Ida,reports_to,Vera
Vera,language,Dutch
"""


@pytest.fixture
def company(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text(COMPANY)
    return read_knowledge(path)


def test_no_analogy_is_asked_to_a_name_or_to_persons_with_one_each(company) -> None:
    asked = augment(company).questions.filter(role="analogy")
    assert asked.select("subject", "second").rows() == [("Cid", "language")]


def test_persons_are_asked_for_by_who(company) -> None:
    asked = augment(company).questions
    assert {"Who is the spouse of the mentor of Ann?", "Whose nickname is Annie?"} <= {
        *asked["question"],
        *asked["prompt"],
    }


def test_no_text_calls_a_person_it(company) -> None:
    made = augment(company, strategies=["derive", "paraphrases", "reversals"])
    assert made.train.filter(role="derived").height
    assert not made.train["text"].str.contains(r"\bit is (Vera|Hugo|Ida)|what it ").any()


def test_wordings_of_a_kind_are_changed_by_a_file(company, tmp_path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('[kinds.person]\nrelations = ["office"]\nask = "{subject}: {noun}, who?"\n')
    words = Wording.read(path)
    assert words.ask(["office"], "Ann") == "Ann: office, who?"
    assert "Ann: office, who?" in set(augment(company, wording=words).train["turn"])


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'person'"):
        Wording(kinds={"persons": {}})  # type: ignore[dict-item]


def test_an_audit_shows_three_of_each(company) -> None:
    counts = dict(audit(company, forecast=False).samples["role"].value_counts().iter_rows())
    assert counts["fact: office"] == 3
    assert counts["composition"] == 3
    assert counts["reversal"] == 3
