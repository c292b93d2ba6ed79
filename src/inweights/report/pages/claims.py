"""Build the verdicts of a page: a headline, and one row per claim with interval and target.

:func:`claims_section` is one of the sections of :func:`~inweights.report.build_page`.
The command line also prints the result of :func:`headline`.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from inweights.config import load_toml
from inweights.experiments.claims.claim import (
    NO_TEXT,
    NO_WORDS,
    RELIABLE,
    Protocol,
    Rule,
    Verdict,
)
from inweights.experiments.claims.claim_result import ClaimResult
from inweights.experiments.claims.closeness import closeness
from inweights.experiments.claims.published import printed_number
from inweights.report.base.html import disclosure, escape, prose, tag
from inweights.support.progress import plural

_WORDS = load_toml(Path(__file__).with_suffix(".toml"))
_CLASS: dict[Verdict, str] = _WORDS["classes"]
_ICON: dict[Verdict, str] = _WORDS["icons"]
_JUDGED: dict[Rule, str] = _WORDS["judged"]
_PROTOCOL: dict[Protocol, str] = _WORDS["protocols"]
_WIDE = 230.0
_HIGH = 40.0
_EDGE = 8.0


def headline(claims: Sequence[ClaimResult]) -> str:
    """Return a summary of all verdicts in one phrase, such as ``3 of 4 claims reproduced``.

    Checks, which hold by construction, are counted only if there are no other claims
    (``2 of 2 checks hold``). If no claim is from a paper, the word is ``hold`` instead
    of ``reproduced``. The numbers of claims with the verdicts ``consistent``, ``not
    seen in a substitute`` and ``undecided`` follow, separated by commas. If nothing was
    judged, the text is, for example, ``4 claims, none judged``.

    Args:
        claims: The judged claims, at least one.
    """
    counted = [claim for claim in claims if not claim.check]
    if not counted:
        good = sum(claim.verdict == "reproduced" for claim in claims)
        return (
            f"{good} of {plural(len(claims), 'check')} hold{'s' * (len(claims) == 1)}"
        )
    stated = plural(len(counted), "claim")
    if all(claim.verdict == "not judged" for claim in counted):
        return f"{stated}, none judged"
    good = sum(claim.verdict == "reproduced" for claim in counted)
    others = Counter(claim.verdict for claim in counted)
    also: tuple[Verdict, ...] = ("consistent", "not seen in a substitute", "undecided")
    still = [f"{others[v]} {v}" for v in also if others[v]]
    own = all(claim.source == "ours" for claim in counted)
    word = f"hold{'s' * (len(counted) == 1)}" if own else "reproduced"
    return ", ".join([f"{good} of {stated} {word}", *still])


def claims_section(claims: Sequence[ClaimResult]) -> str:
    """Return a section with a headline, counts and one row per claim, as HTML.

    Args:
        claims: The judged claims, in the order of the page. If there are none, the
            result is an empty string.
    """
    if not claims:
        return ""
    tally = Counter(claim.verdict for claim in claims if not claim.check)
    parts = [
        tag(
            "span",
            _icon(verdict),
            escape(f"{tally[verdict]} {verdict}"),
            class_=f"chip {name}",
        )
        for verdict, name in _CLASS.items()
        if tally[verdict]
    ]
    if checks := [claim for claim in claims if claim.check]:
        parts.append(tag("span", escape(headline(checks)), class_="chip"))
    strip = [
        tag(
            "a",
            href=f"#claim-{n}",
            class_=_CLASS[c.verdict],
            aria_label=f"{c.verdict}: {c.text}",
        )
        for n, c in enumerate(claims)
    ]
    rows = tag("ol", *(claim_row(n, c) for n, c in enumerate(claims)), class_="claims")
    # If nothing was judged, the section is a single line that can be opened.
    if all(claim.verdict == "not judged" for claim in claims):
        why = next((claim.why for claim in claims if claim.why), "")
        summary = escape(headline(claims)) + tag("span", escape(why), class_="size")
        return tag(
            "section", disclosure(summary, rows, class_="unjudged"), id="verdict"
        )
    return tag(
        "section",
        tag("h2", escape(headline(claims)), class_="verdict"),
        tag("div", *strip, class_="strip"),
        tag("p", *parts, class_="tally") if parts else "",
        rows,
        id="verdict",
    )


def claim_row(place: int, claim: ClaimResult) -> str:
    """Return the row of one claim as HTML: verdict, sentence, source, interval and numbers.

    Args:
        place: Index of the row on the page, from 0; it is part of the row's id.
        claim: The judged claim.
    """
    name = _CLASS[claim.verdict]
    source = "our own claim" if claim.source == "ours" else claim.source
    if claim.id.startswith(f"{source}/"):
        source = ""
    origin = " · ".join(part for part in (claim.place, source) if part)
    quoted = claim.quote not in ("", NO_WORDS, NO_TEXT)
    text = tag(
        "div",
        tag("p", prose(claim.text), class_="sentence"),
        tag("p", f"“{escape(claim.quote)}”", class_="quote") if quoted else "",
        tag("p", escape(origin), " ", tag("code", escape(claim.id)), class_="place"),
        tag("p", escape(claim.why), class_="why") if claim.why else "",
        class_="what",
    )
    badge = tag(
        "p", _icon(claim.verdict), tag("span", escape(claim.shown)), class_="badge"
    )
    evidence = tag("div", interval_bar(claim), _facts(claim), class_="evidence")
    return tag("li", badge, text, evidence, class_=f"claim {name}", id=f"claim-{place}")


def _facts(claim: ClaimResult) -> str:
    measured = "" if claim.measured is None else _number(claim.measured)
    if measured and claim.low is not None and claim.high is not None:
        measured += f" [{_number(claim.low)}, {_number(claim.high)}]"
    size = closeness(claim)
    computed = claim.replicates and not claim.met
    facts = (
        ("mean" if claim.rule == "mean" else "median", measured),
        ("target", claim.target.text),
        claim.number,
        ("size", size.text if size else ""),
        ("protocol", _PROTOCOL[claim.protocol] if claim.protocol else ""),
        ("meet the target", claim.met),
        ("judged by", _JUDGED[claim.rule].format(share=RELIABLE) if claim.met else ""),
        ("confidence", f"{100 * claim.level:.4g}%" if claim.met else ""),
        ("evidence", "computed" if computed else ""),
        ("condition", claim.condition),
        ("deciding case", claim.case),
        ("would decide it", f"about {claim.needed} seeds" if claim.needed else ""),
        ("version", str(claim.version) if claim.version > 1 else ""),
        *(("earlier", said) for said in claim.earlier),
        ("counted", "no: it holds by construction" if claim.check else ""),
    )
    rows = (
        tag("div", tag("dt", escape(k)), tag("dd", escape(v))) for k, v in facts if v
    )
    return tag("dl", *rows, class_="facts")


def interval_bar(claim: ClaimResult) -> str:
    """Draw the confidence interval of a claim and its target range, as an SVG element.

    Args:
        claim: The judged claim.

    Returns:
        The SVG element; an empty string if nothing was measured.
    """
    least = claim.target.least
    most = claim.target.most
    printed = printed_number(claim.published)
    marks = [claim.measured, claim.low, claim.high, least, most, printed]
    numbers = [m for m in marks if m is not None]
    if claim.measured is None or not numbers:
        return ""
    start, end = _domain(numbers)

    def at(value: float) -> str:
        share = (min(max(value, start), end) - start) / (end - start)
        return f"{_EDGE + share * (_WIDE - 2 * _EDGE):.1f}"

    left = at(start if least is None else least)
    right = at(end if most is None else most)
    shapes = [
        tag(
            "rect",
            x=left,
            y="4",
            width=f"{float(right) - float(left):.1f}",
            height="18",
            rx="2",
            class_="band",
        ),
        tag("line", x1=at(start), x2=at(end), y1="13", y2="13", class_="base"),
    ]
    for edge, value in ((left, least), (right, most)):
        if value is not None:
            shapes.append(tag("line", x1=edge, x2=edge, y1="3", y2="23", class_="edge"))
    if claim.low is not None and claim.high is not None:
        shapes.append(
            tag(
                "line",
                x1=at(claim.low),
                x2=at(claim.high),
                y1="13",
                y2="13",
                class_="ci",
            )
        )
    if printed is not None:
        x = float(at(printed))
        shapes.append(tag("path", d=f"M{x:.1f} 20 l3.5 6 h-7 z", class_="printed"))
    shapes.append(tag("circle", cx=at(claim.measured), cy="13", r="4.5", class_="dot"))
    shapes.append(tag("text", escape(_number(start)), x=f"{_EDGE:g}", y="37"))
    shapes.append(
        tag(
            "text",
            escape(_number(end)),
            x=f"{_WIDE - _EDGE:g}",
            y="37",
            text_anchor="end",
        )
    )
    label = f"measured {_number(claim.measured)}, target {claim.target.text}"
    head = {"viewBox": f"0 0 {_WIDE:g} {_HIGH:g}", "role": "img", "aria_label": label}
    return tag("svg", *shapes, class_="bar", **head)


def _domain(numbers: Sequence[float]) -> tuple[float, float]:
    """Return the limits of a bar's axis: [0, 1] or [-1, 1] if all values fit, else their range."""
    low = min(numbers)
    high = max(numbers)
    if low >= -0.1 and high <= 1.1:
        return 0.0, 1.0
    if low >= -1.1 and high <= 1.1:
        return -1.0, 1.0
    margin = 0.12 * (high - low) or abs(high) or 1.0
    return (min(0.0, low) if low >= 0 else low - margin), high + margin


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _icon(verdict: Verdict) -> str:
    return tag(
        "svg",
        tag("path", d=_ICON[verdict]),
        class_="icon",
        viewBox="0 0 16 16",
        aria_hidden="true",
    )
