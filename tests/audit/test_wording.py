"""The wording of questions about users' facts, also about persons and names."""

from __future__ import annotations

import pytest

from inweights.audit import audit, augment
from inweights.cli import main
from inweights.errors import ConfigError
from inweights.worlds import Wording, read_knowledge
from inweights.worlds.knowledge.words.relation_kinds import KindOfRelation

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
    assert (
        not made.train["text"].str.contains(r"\bit is (Vera|Hugo|Ida)|what it ").any()
    )


def test_wordings_of_a_kind_are_changed_by_a_file(company, tmp_path) -> None:
    path = tmp_path / "words.toml"
    path.write_text(
        '[kinds.person]\nrelations = ["office"]\nask = "{subject}: {noun}, who?"\n'
    )
    words = Wording.read(path)
    assert words.ask(["office"], "Ann") == "Ann: office, who?"
    assert "Ann: office, who?" in set(augment(company, wording=words).train["turn"])


def test_a_kind_that_is_not_known_is_refused() -> None:
    with pytest.raises(ConfigError, match="did you mean 'person'"):
        Wording(kinds={"persons": {}})  # type: ignore[dict-item]


def test_an_audit_shows_three_of_each(company) -> None:
    counts = dict(
        audit(company, forecast=False).samples["role"].value_counts().iter_rows()
    )
    assert counts["fact: office"] == 3
    assert counts["composition"] == 3
    assert counts["reversal"] == 3


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[statments]\noffice = ["{subject}: {object}."]', "did you mean 'statements'"),
        ('[statements]\noffce = ["{subject}: {object}."]', "did you mean 'office'"),
        ('[phrases]\nmentr = "guide"', "did you mean 'mentor'"),
        ('[kinds.person]\nrelations = ["mentr"]', "did you mean 'mentor'"),
        (
            '[kinds.person]\nrelatons = ["mentor"]',
            r"did you mean 'kinds\[person\].relations'",
        ),
        (
            '[statements]\nmentor = []\noffice = "in"',
            r"statements\[office\]: expected `array`",
        ),
        ("[statements\n", "not a TOML file: .* line 1"),
        (
            '[aliases]\nAnnn = ["A."]',
            r"entity in \[aliases\] of .*'Annn'; did you mean 'Ann'",
        ),
        (
            '[aliases]\nAnn = ["Bob"]',
            "'Bob' of 'Ann' is a name of 'Bob'; give a name that no",
        ),
        ('[aliases]\nAnn = ["A.", "Ann"]', "'Ann' of 'Ann' is a name of 'Ann'"),
        (
            '[aliases]\nAnn = ["Chief"]\nBob = ["Chief"]',
            "'Chief' of 'Bob' is a name of 'Ann'",
        ),
        (
            '[aliases]\nAnn = [" "]',
            "the alias ' ' of 'Ann' is empty; .* or leave it out",
        ),
        ("[aliases]\nAnn = []", "the alias '' of 'Ann' is empty"),
    ],
)
def test_a_file_of_wordings_that_fits_no_facts_is_refused(
    text, told, company, tmp_path
) -> None:
    path = tmp_path / "words.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=told):
        Wording.read(path, company)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[phrases]\nmentr = "guide"', "words.toml 'mentr'; did you mean 'mentor'"),
        ('[aliases]\nHugoo = ["H."]', "words.toml 'Hugoo'; did you mean 'Hugo'"),
    ],
)
def test_commands_check_a_file_of_wordings_against_the_facts(
    text, said, tmp_path, capsys
) -> None:
    (tmp_path / "facts.csv").write_text(COMPANY)
    (tmp_path / "words.toml").write_text(text)
    given = [str(tmp_path / "facts.csv"), "--wording", str(tmp_path / "words.toml")]
    out, model = ["--out", str(tmp_path / "data")], ["--model", "@tiny", "--dry-run"]
    for words in (
        ["audit", *given],
        ["augment", *given, *out],
        ["compare-training", *given, *model],
    ):
        assert main(words) == 2
        assert said in capsys.readouterr().err


def test_an_alias_is_trained_on_and_accepted_as_an_answer(company, tmp_path) -> None:
    path = tmp_path / "words.toml"
    path.write_text('[aliases]\nVera = ["Dr. Vera"]')
    made = augment(
        company, strategies=["paraphrases"], wording=Wording.read(path, company)
    )
    assert made.train["prompt"].str.contains("Dr. Vera").any()
    accepted = made.questions.filter(answer="Vera")["accepted"].to_list()
    assert accepted
    assert all(names == ["Vera", "Dr. Vera"] for names in accepted)


def test_names_persons_and_numbers_pass_to_nobody(tmp_path) -> None:
    """The audit's table and the questions agree, and a file of wordings changes both."""
    file = tmp_path / "facts.csv"
    ages = "".join(
        f"{who},age,{age}\n" for who, age in (("Ann", 30), ("Bob", 30), ("Hugo", 41))
    )
    file.write_text(f"{COMPANY}{ages}Ann,desk,A1\nBob,desk,A1\nVera,desk,A2\n")
    facts = read_knowledge(file)
    words = Wording(kinds={"name": KindOfRelation(relations=("desk",))})
    for wording, passed in ((None, {"desk", "language"}), (words, {"language"})):
        listed = audit(facts, forecast=False, wording=wording).transfers
        asked = augment(facts, wording=wording).questions.filter(role="analogy")
        assert set(asked["second"]) == passed
        assert set(listed.filter(shared="office")["attribute"]) == passed
        assert not {*listed["attribute"], *listed["shared"]} & {
            "nickname",
            "mentor",
            "age",
        }


def test_a_verb_without_a_preposition_is_asked_as_a_noun() -> None:
    assert (
        Wording().ask(["born"], "Ann") == "What is the date or place of birth of Ann?"
    )
    assert Wording().ask(["joined"], "Ann") == "What is the date of joining of Ann?"
