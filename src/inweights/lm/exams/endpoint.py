"""Evaluate a model through an OpenAI-compatible API, and store its answers in a file.

An :class:`Endpoint` represents the model. :func:`ask_endpoint` sends every question
once, and :func:`requests_of` counts the questions that are still to be sent.
``inweights evaluate --endpoint`` uses both.
"""

import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import polars as pl

from inweights.config import digest
from inweights.errors import ConfigError, DataError, RunError
from inweights.lm.exams.evaluate import exact
from inweights.lm.exams.kinds import groups
from inweights.lm.exams.questions import Question
from inweights.support.progress import Progress

#: HTTP status codes after which a request is sent again, and the maximum number of attempts.
_AGAIN = (408, 409, 429, 500, 502, 503, 504)
_TRIES = 6
#: Seconds before the second attempt, doubled before each further attempt; and the time
#: limit of one attempt in seconds.
_WAIT = 1.0
_PATIENCE = 60.0
#: Maximum number of bytes of a server's error message that are shown.
_SHOWN = 300
_SYSTEM = (
    "Answer with the name alone, or complete the sentence with it. No explanation."
)


@dataclass(frozen=True)
class Endpoint:
    """Model that a server offers through an OpenAI-compatible API.

    Attributes:
        url: Base URL, such as ``http://localhost:8080/v1``.
        model: Name of the model on the server.
        key: Environment variable with the API key, by default ``OPENAI_API_KEY``; if it
            is not set, no key is sent.
        at_once: Maximum number of simultaneous requests, at least 1; by default 4.
        tokens: Maximum number of tokens of an answer, at least 1; by default 24.

    Raises:
        ConfigError: The address does not begin with ``http://`` or ``https://``, or
            ``at_once`` or ``tokens`` is below 1.

    Example:
        >>> Endpoint("http://localhost:8080/v1", "small").body("Rome is in")["messages"][1]
        {'role': 'user', 'content': 'Rome is in'}
    """

    url: str
    model: str
    key: str = "OPENAI_API_KEY"
    at_once: int = 4
    tokens: int = 24

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(
                f"the URL must begin with http:// or https://, got '{self.url}'"
            )
        if self.at_once < 1 or self.tokens < 1:
            raise ConfigError("'at_once' and 'tokens' must be at least 1")

    def body(self, prompt: str) -> dict[str, Any]:
        """Return the request body for a question, which is sent as JSON.

        The hash of the address and this body identifies the stored answer.

        Args:
            prompt: The question.

        Returns:
            The body, as a dictionary with the keys ``model``, ``messages``,
            ``temperature`` and ``max_tokens``.
        """
        return {
            "model": self.model,
            "messages": [
                {"role": "system", "content": _SYSTEM},
                {"role": "user", "content": prompt},
            ],
            # At temperature 0, an answer is reproducible, as far as the server allows.
            "temperature": 0,
            "max_tokens": self.tokens,
        }

    def answer(self, prompt: str, wait: Callable[[float], None] = time.sleep) -> str:
        """Send a question to the server, and return the answer.

        If the server is busy or cannot be reached, the request is sent again, with up
        to six attempts in total and pauses of 1, 2, 4, 8 and 16 seconds between them.
        An attempt ends after 60 seconds without a reply.

        Args:
            prompt: The question.
            wait: Function that waits for a number of seconds before another attempt; by
                default :func:`time.sleep`.

        Returns:
            The text of the answer.

        Raises:
            RunError: The server refuses the request, is still busy or unreachable at
                the last attempt, or sends a reply that is not a completion.
        """
        headers = {"Content-Type": "application/json"}
        # A missing key is not an error, since many servers need none.
        if secret := os.environ.get(self.key, ""):
            headers["Authorization"] = f"Bearer {secret}"
        request = urllib.request.Request(  # noqa: S310 - the address begins with http
            f"{self.url.rstrip('/')}/chat/completions",
            json.dumps(self.body(prompt)).encode(),
            headers,
            method="POST",
        )
        for attempt in range(1, _TRIES + 1):
            try:
                with urllib.request.urlopen(request, timeout=_PATIENCE) as reply:  # noqa: S310
                    said = json.loads(reply.read())["choices"][0]["message"]["content"]
                    return str(said or "")
            except urllib.error.HTTPError as error:
                why = f"{error.code} {error.reason}"
                again = error.code in _AGAIN
                if error.code in (401, 403):  # the server's message may contain the key
                    why += f"; is {self.key} set?"
                else:
                    why += f" {' '.join(error.read(_SHOWN).decode(errors='replace').split())}"
                if error.code == 404 and "/v1" not in self.url:
                    why += "; most addresses end in /v1"
            except (OSError, HTTPException) as error:
                why = str(getattr(error, "reason", error))
                again = True
            except (ValueError, LookupError, TypeError):
                raise RunError(
                    f"{self.url} sent a reply that is not a completion"
                ) from None
            if not again or attempt == _TRIES:
                tries = f" after {attempt} tries" if again else ""
                raise RunError(f"{self.url} did not answer{tries}: {why}")
            wait(_WAIT * 2 ** (attempt - 1))
        raise AssertionError


def ask_endpoint(
    endpoint: Endpoint,
    questions: Sequence[Question],
    kept: Path,
    *,
    progress: Progress | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Send each question once, store the answers in a file, and evaluate them.

    A second call with the same file sends only the questions without a stored answer. A
    stored answer is used if the address and the request are the same; the request
    contains the name of the model and the prompt.

    Args:
        endpoint: The model.
        questions: Questions, such as those returned by :func:`inweights.lm.read_exam`
            with ``chat``.
        kept: JSONL file with one answer per line, which is created if it does not
            exist.
        progress: Function that is called with the number of prompts done, the total
            number of prompts, and a description; ``None`` for no progress reports.
        wait: Function that waits for a number of seconds before another attempt; by
            default :func:`time.sleep`.

    Returns:
        A dictionary with two tables. ``answers`` has one row per question: ``id``,
        ``chain``, ``role``, ``prompt`` and the right ``answer`` (:class:`Question`),
        ``said``, the model's answer, and ``hit``, whether this is an accepted name
        (:func:`~.evaluate.exact`). ``groups`` has the accuracy for each kind of
        question (:func:`inweights.lm.exams.kinds.groups`).

    Raises:
        DataError: There are no questions, or the file is damaged or cannot be read.
        RunError: As for :meth:`Endpoint.answer`; earlier answers remain in the file.
        OSError: The file cannot be written.
    """
    if not questions:
        raise DataError("there are no questions to evaluate")
    known = _known(kept)
    lock = threading.Lock()
    if kept.exists():  # an incomplete last line is removed
        content = kept.read_bytes()
        os.truncate(kept, content.rfind(b"\n") + 1)
    prompts = list(dict.fromkeys(q.prompt for q in questions))
    names = {
        # The body contains the model and the limit of tokens, so other settings lead to
        # new requests.
        prompt: digest([endpoint.url, endpoint.body(prompt)])
        for prompt in prompts
    }
    missing = [prompt for prompt in prompts if names[prompt] not in known]
    done = len(prompts) - len(missing)
    lost: list[RunError] = []

    def one(prompt: str) -> None:
        nonlocal done
        # After one request has failed, those waiting in the pool are not sent.
        if lost:
            return
        try:
            said = endpoint.answer(prompt, wait)
        except RunError as error:
            lost.append(error)
            return
        # Each answer is stored at once, by one thread at a time, so that paid answers
        # are not lost if the process is killed.
        with lock, kept.open("a", encoding="utf-8") as file:
            known[names[prompt]] = said
            file.write(
                json.dumps({"key": names[prompt], "prompt": prompt, "said": said})
                + "\n"
            )
            done += 1
            if progress:
                progress(done, len(prompts), f"asking {endpoint.model}")

    with ThreadPoolExecutor(endpoint.at_once) as pool:
        # Iterating over the results raises the errors of threads here.
        for _ in pool.map(one, missing):
            pass
    if lost:
        raise RunError(
            f"{lost[0]}; {done} of {len(prompts)} answers are stored; repeat the call to "
            "request the remaining answers"
        )
    rows = []
    for q in questions:
        said = known[names[q.prompt]]
        rows.append(
            (q.id, q.chain or q.id, q.role, q.prompt, q.answer, said, exact(q, said))
        )
    schema = ("id", "chain", "role", "prompt", "answer", "said", "hit")
    answers = pl.DataFrame(rows, schema=schema, orient="row")
    return {"answers": answers, "groups": groups(answers, questions)}


def requests_of(
    endpoint: Endpoint, questions: Sequence[Question], kept: Path
) -> tuple[int, int]:
    """Count the requests that are still to be sent, and estimate their tokens.

    Args:
        endpoint: The model.
        questions: Questions, as for :func:`ask_endpoint`.
        kept: JSONL file of answers, which need not exist.

    Returns:
        Two numbers: the number of distinct prompts without a stored answer, and an
        estimate of the total number of tokens of these prompts and their answers.

    Raises:
        DataError: The file is damaged or cannot be read.

    Example:
        >>> asked = [Question("0", "reversal", "Rome is in", ("Italy", "Peru"), 0)]
        >>> requests_of(Endpoint("http://localhost:8080/v1", "small"), asked, Path("no-such-file"))
        (1, 46)
    """
    known = _known(kept)
    prompts = {q.prompt for q in questions}
    missing = [
        p for p in prompts if digest([endpoint.url, endpoint.body(p)]) not in known
    ]
    # An English word is about 1.4 tokens. Each answer is counted at its limit.
    words = sum(len(f"{_SYSTEM} {prompt}".split()) for prompt in missing)
    return len(missing), round(1.4 * words) + endpoint.tokens * len(missing)


def _known(kept: Path) -> dict[str, str]:
    """Return the stored answers by key."""
    if not kept.exists():
        return {}
    try:
        # The last line may be incomplete.
        whole, _, _ = kept.read_text(encoding="utf-8").rpartition("\n")
        rows = list(map(json.loads, whole.splitlines()))
        return {row["key"]: row["said"] for row in rows}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"the stored answers in {kept} cannot be read ({error}); remove this file"
        ) from None
