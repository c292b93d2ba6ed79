"""How to cite: the papers whose recipes these are, and this project, as BibTeX."""

from __future__ import annotations

import textwrap
from importlib.metadata import version

from inweights.lab.grammar.recipe import Recipe

#: By the first part of a recipe's name: key, title, and what is known beside it. Fields that are
#: not known here stay open, rather than guessed.
_PAPERS = {
    "identity-bridge": (
        "identitybridge",
        "Identity Bridge: Enabling Implicit Reasoning via Shared Latent Memory",
        {
            "author": "Lin, Pengxiao and Chen, Zheng-An and Xu, Zhi-Qin John",
            "year": "2025",
            "eprint": "2509.24653",
            "archiveprefix": "arXiv",
        },
    ),
    "feature-resemblance": (
        "featureresemblance",
        "Feature Resemblance: Towards a Theoretical Understanding of Analogical Reasoning in "
        "Transformers",
        {
            "author": "Xu, Ruichen and Yan, Wenjing and Zhang, Ying-Jun Angela",
            "year": "2026",
            "eprint": "2603.05143",
            "archiveprefix": "arXiv",
        },
    ),
    "geometric-memory": (
        "geometricmemory",
        "Deep sequence models tend to memorize geometrically; it is unclear why",
        {
            "author": "Noroozizadeh, Shahriar and Nagarajan, Vaishnavh and Rosenfeld, Elan and "
            "Kumar, Sanjiv",
            "year": "2025",
            "eprint": "2510.26745",
            "archiveprefix": "arXiv",
        },
    ),
    "reversal-curse": (
        "reversalcurse",
        "Breaking the Reversal Curse in Autoregressive Language Models via Identity Bridge",
        {"year": "2026", "eprint": "2602.02470", "archiveprefix": "arXiv"},
    ),
    "out-of-context": (
        "outofcontext",
        "Generalization or hallucination? Understanding out-of-context reasoning in transformers",
        {
            "author": "Huang, Yixiao and Zhu, Hanlin and Guo, Tianyu and Jiao, Jiantao and "
            "Sojoudi, Somayeh and Jordan, Michael I. and Russell, Stuart and Mei, Song",
            "year": "2025",
            "eprint": "2506.10887",
            "archiveprefix": "arXiv",
        },
    ),
}
_PAPERS["demo"] = _PAPERS["identity-bridge"]


def citations(recipe: Recipe | None = None) -> list[str]:
    """Return BibTeX entries: of the project, and of a recipe's paper, or of all papers.

    Example:
        >>> from inweights.recipes import get_recipe
        >>> [entry.split(",")[0] for entry in citations(get_recipe("geometric-memory/fig1"))]
        ['@misc{geometricmemory', '@software{inweights']
    """
    if recipe is None:
        papers = [paper for name, paper in _PAPERS.items() if name != "demo"]
    else:
        source = recipe.name.partition("/")[0]
        papers = [_PAPERS[source]] if source in _PAPERS else []
    entries = [_entry("misc", key, {"title": title, **more}) for key, title, more in papers]
    about = {
        "title": "inweights: a laboratory for in-weights reasoning",
        "author": "{the inweights authors}",
        "version": version("inweights"),
    }
    return [*entries, _entry("software", "inweights", about)]


def _entry(kind: str, key: str, fields: dict[str, str]) -> str:
    fields = {name: f"  {name} = {{{value}}}," for name, value in fields.items()}
    lines = [textwrap.fill(field, 80, subsequent_indent="    ") for field in fields.values()]
    missing = [name for name in ("author", "year") if name not in fields]
    if missing and kind == "misc":
        lines.append(f"  note = {{{' and '.join(missing)}: take from the paper}},")
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
