"""A synthetic run: claims of every verdict, and the content of its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report import made_up


def claim(name: str, verdict: str, **changes: Any) -> Any:
    """Return a judged claim."""
    from inweights.experiments import ClaimResult, Target

    fields: dict[str, Any] = {
        "id": f"identity-bridge/fig2/{name}",
        "text": "With identity facts, accuracy on unseen two-hop queries is far above chance.",
        "place": "Fig. 2, §4.1",
        "source": "identity-bridge",
        "published": None,
        "target": Target(least=0.9),
        "measured": 0.97,
        "low": 0.94,
        "high": 1.0,
        "replicates": 5,
        "verdict": verdict,
    }
    return ClaimResult(**{**fields, **changes})


def claims() -> list[Any]:
    """Return a claim of every verdict."""
    from inweights.experiments import Target

    nothing = {"measured": None, "low": None, "high": None, "replicates": 0}
    return [
        claim("with", "reproduced", case="model = gpt-small, C = 6", published="1.0"),
        claim(
            "without",
            "reproduced",
            text="Without identity facts the same models stay at chance, `1/C`.",
            target=Target(most=0.15),
            measured=0.03,
            low=-0.02,
            high=0.08,
        ),
        claim(
            "drop",
            "not reproduced",
            text="Standard GPT-2 keeps an accuracy of about a half at the highest complexity.",
            target=Target(least=0.35, most=0.75),
            measured=0.21,
            low=0.12,
            high=0.3,
            published="0.5",
        ),
        claim(
            "decay",
            "undecided",
            text="Weight decay recovers accuracy at high complexity.",
            target=Target(least=0.2),
            measured=0.25,
            low=0.11,
            high=0.39,
            needed=23,
        ),
        claim(
            "late",
            "not judged",
            text="It holds later.",
            why="no run at this scale",
            **nothing,
        ),
    ]


def content(**changes: Any) -> Any:
    """Return the content of a page, with changes of the recipe, the run or the page."""
    from inweights.config import Config
    from inweights.experiments import Recipe
    from inweights.experiments.engine.outcome import Outcome
    from inweights.report.pages.page import PageContent
    from inweights.runs import RunFolder

    page = {"cite": changes.pop("cite", ())}
    name = str(changes.get("name", "identity-bridge/fig2"))
    about: dict[str, Any] = {
        "name": name,
        "title": "Do identity facts unlock two-hop reasoning?",
        "paper": "Identity Bridge: Enabling Implicit Reasoning via Shared Latent Memory",
        "place": "Fig. 2, §4.1",
        "summary": "Four models learn first and second hops of a made-up world, with and without "
        "the identity facts `b → b`, and are asked two-hop queries that were never trained.",
        "figures": made_up.figures(),
        "ours": [
            "training.optimizer.rate",
            "The number of bridges: the paper gives none.",
        ],
        "scales": {"cpu": Config()},
        "seeds": {"cpu": 5},
        "first_seed": 0,
    }
    about |= {
        key: changes.pop(key) for key in about if key in changes and key != "seeds"
    }
    run: dict[str, Any] = {
        "scale": "cpu",
        "seeds": (0, 1, 2, 3, 4),
        "seconds": 412.0,
        "overrides": (),
        "folder": RunFolder(Path("runs"), f"{name}/3f9a1c0d77e2", {}),
        "claims": tuple(claims()),
        "tables": made_up.tables(),
        "settings": {
            "complexities": [1, 2, 3],
            "world": {"bridges": 20, "relations": 2},
            "training": {"optimizer": {"kind": "adamw", "rate": 1e-3}, "steps": 4000},
        },
        "environment": {
            "python": "3.11.9",
            "torch": "2.9.0",
            "machine": {"cpu": "2 cores"},
        },
    }
    recipe = Recipe(**about, plan=lambda settings: settings)
    return PageContent(outcome=Outcome(recipe=recipe, **{**run, **changes}), **page)
