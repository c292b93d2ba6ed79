"""Two examples of each command, which ``--help`` shows below its first sentence.

A test runs each: those of files in a folder that ``inweights examples .`` has filled.
"""

from cyclopts import App

EXAMPLES = {
    "ask": (
        'inweights ask model.safetensors two-hop "a1 r1 r2"',
        'inweights ask model.safetensors two-hop "a1 r1" --best 2 --json',
    ),
    "atlas": (
        "inweights atlas karate-club --scale smoke",
        "inweights atlas edges.csv --scale smoke",
    ),
    "audit": ("inweights audit facts.csv", "inweights audit facts.csv --json"),
    "augment": (
        "inweights augment facts.csv --out training",
        "inweights augment facts.csv --strategy identities --out plain",
    ),
    "cite": ("inweights cite", "inweights cite identity-bridge/fig2"),
    "claims": ("inweights claims --help", "inweights claims history fig2/c1-gpt"),
    "compare": (
        "inweights compare last identity-bridge/fig3 --scale smoke",
        "inweights compare last last --json",
    ),
    "demo": ("inweights demo", "inweights demo --json"),
    "describe": ("inweights describe demo", "inweights describe identity-bridge/fig2 gpt.model"),
    "doctor": ("inweights doctor", "inweights doctor --json"),
    "evaluate": (
        "inweights evaluate @smollm2 training",
        "inweights evaluate @smollm2 training --json",
    ),
    "examples": ("inweights examples more", "inweights examples others --json"),
    "explore": ("inweights explore", "inweights explore bridge --out bridge.html"),
    "export": (
        "inweights export last --csv --out tables",
        "inweights export identity-bridge/fig3 --scale smoke --pdf --latex --out figures",
    ),
    "finetune": (
        "inweights finetune @smollm2 training --out tuned",
        "inweights finetune @smollm2 plain --out tuned-plain",
    ),
    "list": ("inweights list", "inweights list geometric-memory"),
    "new": ("inweights new world my-town", "inweights new recipe my-question --out mine"),
    "plan": (
        "inweights plan demo --scale smoke --out plan",
        "inweights plan identity-bridge/fig3 --scale smoke --out other-plan",
    ),
    "predict": ("inweights predict facts.csv", "inweights predict two-hop --set n=5"),
    "run": (
        "inweights run identity-bridge/fig3 --scale smoke",
        "inweights run identity-bridge/fig3 --scale smoke --seeds 3 --dry-run",
    ),
    "runs": ("inweights runs", "inweights runs demo --full"),
    "show": ("inweights show last", "inweights show identity-bridge/fig3 --scale smoke --full"),
    "status": ("inweights status plan", "inweights status plan --json"),
    "sweep": ("inweights sweep study.toml", "inweights sweep study.toml --seeds 2 --set world.n=4"),
    "verify": ("inweights verify demo", "inweights verify demo --full"),
    "work": ("inweights work plan", "inweights work plan --jobs 1"),
    "world": ("inweights world two-hop", "inweights world two-hop --set n=5 --out my-world"),
}


def add_examples(app: App) -> None:
    """Put the examples below the first sentence of each command's help."""
    for name, lines in EXAMPLES.items():
        first, _, rest = app[name].help.partition("\n")
        shown = "\n".join(f"    {line}" for line in lines)
        app[name].help = f"{first}\n\n    ```sh\n{shown}\n    ```\n{rest}"
