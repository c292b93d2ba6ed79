"""Write one file of every kind that the library reads, and list commands that read it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import polars as pl
from safetensors.numpy import save_file
from tests.runs.tiny import RECIPE
from tests.worlds.test_sources import DUMP, TURTLE

from inweights.actions.ledger import stating
from inweights.actions.ledger.ledger import Ledger
from inweights.actions.ledger.lines import LEDGER
from inweights.actions.plans import write_plan
from inweights.audit import augment
from inweights.audit.write import write_augmented
from inweights.experiments.engine.engine import execute
from inweights.recipes import get_recipe, recipe_names
from inweights.runs import RunStore
from inweights.worlds import TwoHop, read_knowledge, save_world

__all__ = ["commands", "files", "make"]

FACTS = [
    ("ann", "mother", "beth"),
    ("beth", "born", "rome"),
    ("carl", "mother", "dora"),
    ("dora", "born", "oslo"),
    ("rome", "country", "italy"),
    ("oslo", "country", "norway"),
    ("eve", "mother", "beth"),
    ("zoë", "born", "rome"),
]
CASE = {
    "orig": {
        "triples_labeled": [["Ann", "employer", "Acme"], ["Acme", "seat", "Rome"]]
    },
    "single_hops": [
        {"cloze": "Ann is employed by", "answer": "Acme", "answer_alias": ["A."]}
    ],
}
TWO_HOP = (
    "e1.value,e2.value,e3.value,r1.category,r2.category,r1(e1).prompt,e2.aliases\n"
    "Mozart,Salzburg,Austria,birthcity,country,Mozart was born in,\"(('Salz',),)\"\n"
    "Bach,Eisenach,Germany,birthcity,country,Bach was born in,\"(('Isenach',),)\"\n"
)
GRAPHML = (
    '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph '
    'edgedefault="undirected"><node id="a"/><node id="b"/><node id="c"/>'
    '<edge source="a" target="b"/><edge source="b" target="c"/></graph></graphml>'
)
TEXTS = {
    "facts.csv": "subject,relation,object\n"
    + "".join(",".join(f) + "\n" for f in FACTS),
    "stages.tsv": "subject\trelation\tobject\tstage\n"
    + "".join("\t".join(f) + f"\t{i % 2}\n" for i, f in enumerate(FACTS)),
    "facts.jsonl": "".join(
        json.dumps(dict(zip(("s", "r", "o"), fact, strict=True)), ensure_ascii=False)
        + "\n"
        for fact in FACTS
    ),
    "cases.json": json.dumps([CASE, CASE]),
    "two_hop.csv": TWO_HOP,
    "facts.ttl": TURTLE,
    "dump.json": "[\n" + ",\n".join(map(json.dumps, DUMP)) + "\n]\n",
    "edges.csv": "source,target\na,b\nb,c\nc,d\nd,a\n",
    "paths.txt": "a=b\nb=c\nb=\nc=a,b,c\n",
    "links.graphml": GRAPHML,
    "config.toml": "n = 4\nevery = 50\n[gpt]\ndecay = 1.0\n",
    "wording.toml": '[statements]\nborn = ["{subject} was born in {object}."]\n'
    '[phrases]\nborn = "place of birth"\n[aliases]\nrome = ["Roma"]\n',
    "examples.jsonl": '{"prompt": "Rome is in", "completion": " Italy."}\n'
    '{"prompt": "Oslo is in", "completion": " Norway.", "stage": 1}\n',
    "study.toml": """
title = "Identities"
seeds = 2
measures = ["accuracy"]
[world]
kind = "two-hop"
n = 3
[model]
kind = "emb-mlp"
[[learner.phases]]
steps = 30
optimizer = { kind = "sgd", rate = 2.0, weight_decay = 0.0 }
[over]
world.identity = [0.0, 1.0]
[[figures]]
table = "accuracy"
title = "Composition"
options = { where = { role = "composition" } }
[[claims]]
name = "without"
text = "Hardly any."
table = "accuracy"
column = "accuracy"
at = { role = "composition", identity = 0.0 }
most = 0.15
bounds = [0, 1]
""",
    "vectors.vec": "4 2\na 1 0\nb 0 1\nc 1 1\nd .5 .5\n",
    "names.txt": "a\nb\nc\nd\n",
}


def make(root: Path) -> None:
    """Write all samples to a folder."""
    for name, text in TEXTS.items():
        (root / name).write_text(text, encoding="utf-8")
    table = pl.DataFrame(FACTS, schema=["subject", "relation", "object"], orient="row")
    table.write_parquet(root / "facts.parquet")
    (root / "set" / "train").mkdir(parents=True)
    (root / "set" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    state = {"_data_files": [{"filename": "data.arrow"}]}
    (root / "set" / "train" / "state.json").write_text(json.dumps(state))
    table.write_ipc_stream(root / "set" / "train" / "data.arrow")
    save_world(TwoHop(n=3).build(), root / "world")
    write_augmented(augment(read_knowledge(root / "facts.csv")), root / "data")
    execute(RECIPE, "smoke", store=RunStore(root / "runs"))
    with closing(sqlite3.connect(root / "database.db")) as database:
        database.execute(
            "create table facts (subject text, relation text, object text)"
        )
        database.executemany("insert into facts values (?, ?, ?)", FACTS)
        database.commit()
    vectors = np.arange(8.0).reshape(4, 2)
    np.save(root / "vectors.npy", vectors)
    save_file({"wte": vectors}, root / "vectors.safetensors")
    demo = get_recipe("demo/two-hop")
    ledger = Ledger()
    ledger.add(
        root / "results" / LEDGER, stating.state([demo], "cpu", ledger, "2026-11-24")
    )
    write_plan(demo.plan(demo.scales["smoke"]), [0, 1], str(root / "plan"))


_EDGES = [
    ["world", "graph", "--set", "shape=file", "--set", "file=FILE", "--json"],
    ["atlas", "FILE", "--scale", "smoke"],
]
_VECTORS = ["atlas", "edges.csv", "--embedding", "FILE"]
#: Commands that read a sample, by the start of its path; the first match applies.
READERS: dict[str, list[list[str]]] = {
    "config.toml": [["run", "demo/two-hop", "--scale", "smoke", "--config", "FILE"]],
    "wording.toml": [["augment", "facts.csv", "--out", "new", "--wording", "FILE"]],
    "examples.jsonl": [["finetune", "@tiny", "FILE", "--out", "new"]],
    **dict.fromkeys(("edges", "paths", "links"), _EDGES),
    "study.toml": [["sweep", "FILE"]],
    "ledger.jsonl": [
        ["verify", "--from", "results", kind] for kind in ("--json", "--full")
    ],
    "database.db": [["audit", "sqlite:///FILE", "--json"], ["world", "sqlite:///FILE"]],
    "vectors.vec": [_VECTORS],
    "vectors": [[*_VECTORS, "--names", "names.txt", "--json"]],
    "names.txt": [
        ["atlas", "edges.csv", "--embedding", "vectors.npy", "--names", "FILE"]
    ],
    "plan/": [
        ["status", "plan", "--json"],
        ["work", "plan"],
        ["work", "plan", "--retry"],
    ],
    "world/": [["world", "world", "--json"], ["predict", "world", "--seconds", "1"]],
    "set/": [["audit", "set", "--json"], ["world", "triples", "--set", "path=set"]],
    "data/questions": [["evaluate", "@tiny", "data", "--json"]],
    "data/": [
        ["finetune", "@tiny", "data", "--out", "new"],
        ["evaluate", "@tiny", "data"],
    ],
    "runs/store": [
        ["run", "tests/tiny", "--scale", "smoke", "--json", "--runs", "runs"]
    ],
    "runs/": [
        ["show", "tests/tiny", "--scale", "smoke", "--json", "--runs", "runs"],
        ["show", "tests/tiny", "--scale", "smoke", "--again", "--runs", "runs"],
        ["run", "tests/tiny", "--scale", "smoke", "--runs", "runs"],
        ["verify", "tests", "--scale", "smoke", "--runs", "runs"],
        ["runs", "--json", "--runs", "runs"],
    ],
    "": [
        ["audit", "FILE", "--json"],
        ["audit", "FILE", "--no-forecast", "--page", "page.html"],
        ["augment", "FILE", "--out", "new"],
        ["predict", "FILE", "--seconds", "1", "--answers", "several"],
        ["world", "FILE", "--json"],
    ],
}


def files(root: Path) -> list[tuple[str, list[list[str]]]]:
    """Return the path of every sample, with the commands that read it."""
    found = []
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        name = path.relative_to(root).as_posix()
        if path.suffix != ".lock" and not name.endswith(("README.md", "run.json")):
            found.append(
                (
                    name,
                    next(READERS[start] for start in READERS if name.startswith(start)),
                )
            )
    return found


def commands() -> list[list[str]]:
    """Return valid commands of every kind; common kinds are repeated."""
    runs = [
        ["run", name, "--scale", "smoke", *_settings(name)] for name in recipe_names()
    ]
    worlds = [
        ["world", "two-hop", "--set", "n=3", "--set", "complexity=2"],
        [
            "world",
            "two-hop",
            "--set",
            "maps=permutation",
            "--seed",
            "3",
            "--out",
            "new",
        ],
        ["world", "graph", "--set", "shape=cycle", "--set", "n=5", "--json"],
        [
            "world",
            "path-star",
            "--set",
            "arms=3",
            "--set",
            "nodes=4",
            "--set",
            "branches=2",
        ],
        ["world", "in-context-star", "--set", "trained=20", "--set", "asked=3"],
        ["world", "analogy", "--set", "n=4", "--set", "categories=2"],
        ["world", "analogical-two-hop", "--set", "n=4", "--set", "identity=0.5"],
        ["world", "world"],
        ["world", "triples", "--set", "path=facts.csv", "--set", "identity=true"],
    ]
    facts = [
        ["predict", "two-hop", "--set", "n=3", "--json"],
        [
            "predict",
            "facts.csv",
            "--answers",
            "several",
            "--gap",
            "0.01",
            "--seconds",
            "2",
            "--all",
        ],
        ["predict", "world", "--tie", "0.05", "--no-advice"],
        ["audit", "facts.csv", "--seconds", "1"],
        ["audit", "@people", "--no-forecast", "--json"],
        ["audit", "two_hop.csv", "--no-forecast", "--page", "page.html"],
        [
            "augment",
            "facts.csv",
            "--out",
            "new",
            "--wording",
            "wording.toml",
            "--strategy",
            "derive",
        ],
        [
            "augment",
            "stages.tsv",
            "--out",
            "new",
            "--curriculum",
            "sa",
            "--strategy",
            "qa",
        ],
        ["atlas", "edges.csv", "links.graphml", "--scale", "smoke", "--seeds", "2"],
        ["atlas", "karate-club", "--scale", "smoke", "--set", "steps=10"],
        [
            "finetune",
            "@tiny",
            "examples.jsonl",
            "--out",
            "new",
            "--set",
            "epochs=1",
            "--seed",
            "1",
        ],
        [
            "finetune",
            "@tiny",
            "data",
            "--out",
            "new",
            "--part",
            "control",
            "--dtype",
            "float32",
        ],
        ["evaluate", "@tiny", "data", "--no-words", "--json"],
        [
            "predict",
            "two-hop",
            "--set",
            "n=3",
            "--intervals",
            "--seconds",
            "1",
            "--page",
            "p.html",
        ],
        ["audit", "facts.csv", "--no-forecast", "--fix", "new"],
        [
            "audit",
            "sqlite:///database.db",
            "--query",
            "select * from facts",
            "--no-forecast",
        ],
        [
            "atlas",
            "edges.csv",
            "--embedding",
            "vectors.npy",
            "--names",
            "names.txt",
            "--json",
        ],
        ["atlas", "--paths", "paths.txt", "--scale", "smoke"],
    ]
    looks = [
        ["describe", "fig2", "gpt.model"],
        ["describe", "demo/two-hop", "--full"],
        ["cite", "fig2"],
        ["compare", "tests/tiny", "tests/tiny", "--scale", "smoke"],
        [
            "export",
            "tests/tiny",
            "--scale",
            "smoke",
            "--out",
            "new",
            "--csv",
            "--latex",
        ],
        ["explore", "geometry", "--out", "explore.html"],
        ["sweep", "study.toml", "--set", "world.n=4", "--seeds", "2"],
        ["plan", "demo/two-hop", "--scale", "smoke", "--out", "new", "--seeds", "2"],
        ["status", "plan"],
        ["work", "plan", "--lease", "5", "--jobs", "2"],
    ]
    stored = [
        ["list"],
        ["list", "--json"],
        ["runs"],
        ["runs", "--json", "--runs", "runs"],
        ["show", "tests/tiny", "--scale", "smoke"],
        ["show", "tests/tiny", "--scale", "smoke", "--again"],
        ["verify", "tests", "--scale", "smoke"],
        ["verify", "--from", "results"],
        ["verify", "--markdown", "--strict"],
        ["verify", "tests", "--settle", "--minutes", "0.1"],
        ["run", "tests/tiny", "--scale", "smoke", "--set", "rows=4", "--json"],
        ["run", "tests/tiny", "--scale", "smoke", "--fresh", "--seeds", "7,8"],
        [
            "run",
            "demo/two-hop",
            "--scale",
            "smoke",
            "--config",
            "config.toml",
            "--jobs",
            "1",
        ],
        [
            "run",
            "demo/two-hop",
            "--scale",
            "smoke",
            "--seeds",
            "900..903",
            "--device",
            "cpu",
        ],
    ]
    return [*runs, *3 * worlds, *2 * facts, *2 * stored, *2 * looks]


def _settings(name: str) -> list[str]:
    """Return options that set up to six plain settings of a recipe to their own values."""
    words = []
    settings = get_recipe(name).scales["smoke"]
    for field in settings.__struct_fields__:
        value = getattr(settings, field)
        if (isinstance(value, bool | int | float | str) and value != "") or (
            isinstance(value, tuple)
            and all(isinstance(v, int | float | str) for v in value)
        ):
            words += ["--set", f"{field}={json.dumps(value)}"]
    return words[:12]
