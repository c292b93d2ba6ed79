"""Wrong input ends with exit code 2 and one line that says what to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from inweights.cli import main

RUN = ["run", "demo/two-hop", "--scale", "smoke"]
WORLD = ["world", "two-hop"]

#: Words of a command, and a part of the message. FILE is a small file of facts, BROKEN a
#: file that cannot be parsed, FOLDER an empty folder, PLUGIN a module whose code fails,
#: ANSWERS a JSON file, and NOWHERE a path that does not exist.
TABLE: list[tuple[str, str]] = [
    # Commands and options that do not exist, and missing arguments.
    ("runn", "runn"),
    ("list --jason", "--jason"),
    ("run", "RECIPE"),
    ("run fig2 --sale smoke", "--sale"),
    ("run fig2 fig3", "takes only RECIPE besides its options, and was also given"),
    ("show last json", "did you mean --json? 'inweights show --help' lists"),
    ("doctor now", "takes no name or file besides its options"),
    ("show", "RUN"),
    ("compare fig2", "SECOND"),
    ("describe", "RECIPE"),
    ("world", "KIND"),
    ("predict", "WORLD"),
    ("audit", "FACTS"),
    ("augment FILE", "--out"),
    ("export fig2", "--pdf"),
    ("verify --settle --minutes much", "much"),
    ("run fig2 --jobs two", "two"),
    ("run fig2 --jobs 1.5 --scale smoke", "1.5"),
    ("world two-hop --seed x", "'x'"),
    ("verify --markdown=maybe", "maybe"),
    ("sweep", "FILE"),
    # Names that do not exist.
    ("run demo/twohop --scale smoke", "did you mean 'demo/two-hop'"),
    ("run fig1", "choose one: identity-bridge/fig1, feature-resemblance/fig1"),
    ("run fgi2", "unknown recipe 'fgi2'"),
    ("run identity-bridge/fig22", "did you mean 'identity-bridge/fig2'"),
    ("run identity-bridge", "unknown recipe 'identity-bridge'"),
    ("run ''", "unknown recipe ''"),
    ("describe figg2", "unknown recipe 'figg2'"),
    ("describe geometric-memory/fig3 stars.7", "did you mean 'stars.1'"),
    ("describe fig2 gpt.modl", "did you mean 'gpt.model'"),
    ("cite figg2", "unknown recipe"),
    ("list nothing-like-it", "unknown recipe"),
    ("verify nothing-like-it", "unknown recipe"),
    ("verify --scale big", "unknown scale 'big'"),
    ("show feedbeef", "unknown run 'feedbeef'"),
    ("show nonsense", "unknown recipe 'nonsense'"),
    ("show /dev/null", "unknown recipe '/dev/null'"),
    ("export ../etc --csv", "unknown recipe '../etc'"),
    ("show demo/two-hop", "has not been run at scale 'cpu' yet"),
    ("show two-hop --scale smoke", "'inweights run demo/two-hop --scale smoke'"),
    ("show demo/two-hop --scale big", "unknown scale 'big'"),
    ("compare feedbeef fig2", "unknown run 'feedbeef'"),
    ("compare two-hop two-hop", "has not been run"),
    ("compare nowhere.json other.jsonl", "there is no file 'nowhere.json'"),
    ("compare ANSWERS nowhere.json", "there is no file 'nowhere.json'"),
    ("compare ANSWERS fig2", "is a file of answers, but 'fig2' is not"),
    ("compare fig2 ANSWERS", "is a file of answers, but 'fig2' is not"),
    ("export feedbeef --pdf", "unknown run 'feedbeef'"),
    ("export two-hop --latex", "has not been run"),
    ("run demo/two-hop --scale big", "unknown scale 'big'. Known: cpu, paper, smoke"),
    ("world twohop", "did you mean 'two-hop'"),
    ("world ''", "is not a world"),
    ("predict twohop", "did you mean 'two-hop'"),
    ("atlas", "inweights atlas karate-club"),
    ("atlas karate-klub", "did you mean 'karate-club'"),
    ("predict two-hop --seconds=-3", "seconds must be at least 0, got -3"),
    (
        "atlas karate-club karate-club --scale smoke",
        "two graphs have the name 'karate-club'",
    ),
    ("atlas karate-club --scale big", "unknown scale 'big'"),
    ("atlas nothing.csv", "there is no file nothing.csv"),
    # Settings: typos, types, ranges, choices.
    ("RUN --set n", "key=value"),
    ("RUN --set =3", "key=value"),
    ("RUN --set n=four", "n: expected `int`, got `str`: 'four'"),
    ("RUN --set n=4.5", "n: expected `int`, got `float`: 4.5"),
    ("RUN --set n=[4]", "n: expected `int`"),
    ("RUN --set n=1", "n must be at least 2, got 1"),
    ("RUN --set n=-3", "n must be at least 2, got -3"),
    ("RUN --set m=4", "unknown key 'm'"),
    ("RUN --set gpt.modle=3", "did you mean 'gpt.model'"),
    ("RUN --set gpt.model.widht=3", "did you mean 'gpt.model.width'"),
    ("RUN --set gpt.model.width=0", "gpt.width must be at least 1, got 0"),
    ("RUN --set gpt.model.width=10000000", "gpt.width must be at most"),
    ("RUN --set gpt.model.heads=3", "heads must divide gpt.width"),
    ("RUN --set gpt.model.dropout=1.5", "dropout must be at least 0 and below 1"),
    ("RUN --set gpt.model.attention=causl", "did you mean 'causal'"),
    ("RUN --set gpt.model.positions=none_", "Known: learned, none, sinusoidal"),
    ("RUN --set gpt.phase.optimizer.kind=adamax", "Known: adam, adamw, sgd"),
    ("RUN --set gpt.phase.optimizer.rate=-1", "optimizer.rate must be above 0, got -1"),
    ("RUN --set gpt.phase.optimizer.rate=0", "optimizer.rate must be above 0"),
    ("RUN --set gpt.phase.optimizer.rate=1e308", "optimizer.rate must be at most"),
    (
        "RUN --set gpt.phase.optimizer.rate=nan",
        "optimizer.rate must be above 0, got nan",
    ),
    ("RUN --set gpt.phase.optimizer.betas=0.9", "length 2"),
    ("RUN --set gpt.phase.schedule.kind=cosin", "did you mean 'cosine'"),
    ("RUN --set gpt.phase.steps=-1", "steps"),
    ("RUN --set gpt.phase.steps=many", "expected `int`"),
    ("RUN --set gpt=3", "gpt: expected `object`"),
    ("RUN --set gpt.model.width.x=3", "is a single value, which has no keys"),
    ("RUN --set models=gtp", "unknown model 'gtp'; did you mean 'gpt'"),
    ("RUN --set models=[gtp]", "unknown model 'gtp'"),
    ("RUN --set 'models=[\"gtp\"]'", "unknown model 'gtp'"),
    ("RUN --set models=gpt,gtp", "unknown model 'gtp'"),
    ("RUN --set models=[]", "models"),
    ("RUN --set every=-5", "every"),
    ("run geometric-memory/fig3 --set stars.5.arms=3", "'stars' has"),
    ("run geometric-memory/fig3 --set stars.0.armz=3", "did you mean 'stars.0.arms'"),
    (
        "run identity-bridge/fig2 --scale smoke --set complexities=[0]",
        "'complexity' must be from 1",
    ),
    ("run geometric-memory/fig7 --scale smoke --set graphs=[]", "nothing to do"),
    (
        "run identity-bridge/fig7 --scale smoke --set models=[gpd]",
        "unknown model 'gpd'",
    ),
    (
        "run geometric-memory/fig7 --scale smoke --set graphs=[cyle]",
        "did you mean 'cycle'",
    ),
    ("WORLD --set m=3", "unknown key 'm'"),
    ("WORLD --set complexity=99", "'complexity' must be from 1"),
    ("WORLD --set n=0", "n must be at least 2"),
    ("WORLD --set identity=maybe", "identity: expected"),
    ("world graph --set shape=cyle", "did you mean 'cycle'"),
    # Seeds, devices, processes.
    ("RUN --seeds 0", "at least one seed"),
    ("RUN --seeds 1.5", "got '1.5'"),
    ("RUN --seeds many", "got 'many'"),
    ("RUN --seeds 9..7", "is a decreasing range; write 7..9"),
    ("RUN --seeds 7,7", "given twice"),
    ("RUN --seeds=-3", "at least one seed"),
    ("RUN --seeds=-3..-1", "seeds must be from 0"),
    ("RUN --seeds 1000000000000", "at most 100000 seeds"),
    ("RUN --seeds ''", "got ''"),
    ("RUN --device gpu", "gpu"),
    ("RUN --device cuda:99", "cuda"),
    ("RUN --jobs=-1", "jobs must be at least 1, got -1"),
    ("RUN --dry-run --device gpu", "gpu"),
    ("predict two-hop --seconds=-1", "seconds must be at least 0, got -1"),
    ("predict two-hop --seconds inf", "seconds must be at most"),
    ("audit FILE --seconds inf", "seconds must be at most"),
    ("augment FILE --out FOLDER/new --budget 10000000000000", "takes about"),
    ("explore geometri", "did you mean 'geometry'"),
    ("verify --settle --minutes=-1", "minutes must be at least 0"),
    ("verify --from nowhere", "nowhere has no ledger.jsonl"),
    ("verify fig3 --settle --into nowhere", "nowhere has no ledger.jsonl"),
    # Files.
    ("RUN --config NOWHERE", "cannot read"),
    ("RUN --config BROKEN", "is not a TOML file"),
    ("RUN --config FOLDER", "it is a folder; expected a file"),
    ("predict NOWHERE", "there is no file"),
    ("RUN --runs /proc/nope", "runs cannot be stored in /proc/nope"),
    ("RUN --store /proc/nope", "runs cannot be stored in /proc/nope"),
    ("RUN --store gs3://x", "is not an address of an object store"),
    ("audit NOWHERE", "NOWHERE"),
    ("audit BROKEN", "BROKEN"),
    ("augment FILE --out FOLDER", "exists"),
    ("augment FILE --out FOLDER/new --hops 9", "hops must be from 2 to 6, got 9"),
    ("augment FILE --out FOLDER/new --curriculum jont", "joint"),
    ("augment FILE --out FOLDER/new --wordings 2", "--wordings"),
    ("audit FILE --no-forecast --page FILE", "refusing to overwrite"),
    (f"plan demo/two-hop --scale smoke --out {'a' * 300}", "File name too long"),
    ("world FOLDER", "FOLDER"),
    ("world two-hop --out FOLDER", "exists"),
    (
        "finetune @tiny FILE --out FOLDER/new",
        "must be a .jsonl, .json or .parquet file",
    ),
    ("finetune @tiny NOWHERE --out FOLDER/new", "NOWHERE"),
    ("finetune @tiny FILE --out ''", "already exists"),
    ("finetune @tiny FILE --out FOLDER/new --set epoch=3", "did you mean 'epochs'"),
    ("evaluate @tiny NOWHERE", "NOWHERE"),
    ("sweep NOWHERE", "NOWHERE"),
    ("sweep BROKEN", "is not a TOML file"),
    # Plugins.
    ("list --plugin no_such_module", "no_such_module"),
    ("runs --plugin no_such_module", "no_such_module"),
    ("show fig2 --plugin ./none.py", "there is no file ./none.py"),
    ("verify --plugin NOWHERE/x.py", "there is no file"),
    ("describe fig2 --plugin PLUGIN", "ZeroDivisionError: division by zero"),
    ("world two-hop --plugin ''", "such as my_lab"),
    ("predict @people --plugin nowhere", "nowhere"),
    ("atlas karate-club --plugin nowhere", "nowhere"),
    ("run mine/rings --scale smoke", "unknown recipe 'mine/rings'"),
]


@pytest.fixture
def places(tmp_path: Path, monkeypatch) -> dict[str, str]:
    monkeypatch.setenv("INWEIGHTS_RUNS", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    names = ("FILE.csv", "BROKEN.toml", "PLUGIN.py", "ANSWERS.json")
    files = {name: tmp_path / name for name in names}
    files["FILE.csv"].write_text("subject,relation,object\na,r,b\nb,s,c\n")
    files["BROKEN.toml"].write_text("{ this is = nothing\n")
    files["PLUGIN.py"].write_text("1 / 0\n")
    files["ANSWERS.json"].write_text("{}\n")
    folder = tmp_path / "FOLDER"
    folder.mkdir()
    found = {path.stem: str(path) for path in files.values()}
    return found | {"FOLDER": str(folder), "NOWHERE": str(tmp_path / "NOWHERE")}


@pytest.mark.parametrize(("words", "says"), TABLE, ids=[words for words, _ in TABLE])
def test_one_clear_line(places, capsys, words: str, says: str) -> None:
    import shlex

    given: list[str] = []
    for word in shlex.split(words):
        given += {"RUN": RUN, "WORLD": WORLD}.get(word, [word])
    for name, place in places.items():
        given = [word.replace(name, place) if name in word else word for word in given]
    code = main(given)
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert says in said.err
    assert len(said.err.strip().splitlines()) == 1
    assert "Traceback" not in said.err


def test_the_table_is_long() -> None:
    assert len(TABLE) == len({words for words, _ in TABLE}) >= 120
