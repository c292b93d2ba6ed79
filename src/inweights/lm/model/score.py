"""Score candidates and continue prompts with a language model.

:mod:`inweights.lm.exams` evaluates with :func:`log_likelihoods` and :func:`generate`.
The prompt of a question is read once, and its keys and values are shared by all
candidates. A question therefore costs ``prompt + Σ candidates`` tokens, not
``candidates × (prompt + candidate)``.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from inweights.errors import DataError
from inweights.lm.model.data import padded
from inweights.lm.model.ending import Ending, cut
from inweights.lm.model.load import LanguageModel
from inweights.lm.model.unfinished import BegunPart

Floats = NDArray[np.float64]
#: Function that is called with the number of finished prompts and the total number.
Tell = Callable[[int, int], None]
#: Maximum number of rows (one per candidate) that are scored at the same time.
_ROWS = 256
#: Maximum number of prompts that are continued at the same time.
_TOGETHER = 32


def log_likelihoods(
    lm: LanguageModel,
    prompts: Sequence[str],
    candidates: Sequence[Sequence[str]],
    *,
    progress: Tell | None = None,
) -> list[Floats]:
    """Compute the log-probability of each candidate as the continuation of its prompt.

    Args:
        lm: The model.
        prompts: ``Q`` prompts.
        candidates: ``Q`` lists, one per prompt, each with at least one candidate. A
            candidate includes the space before it, such as ``" Italy"``.
        progress: Function that is called with the number of prompts done and their
            total number; ``None`` for no progress reports.

    Returns:
        One array per prompt, in double precision, with the natural logarithm of each
        candidate's probability, summed over its tokens.

    Raises:
        DataError: A prompt or a candidate has no tokens, or a prompt has no candidates.
        ValueError: The numbers of prompts and of lists of candidates differ.

    Example:
        >>> from inweights.lm import load_model
        >>> (row,) = log_likelihoods(load_model("@tiny"), ["Rome is in"], [[" Italy", " Peru"]])
        >>> row.shape, bool((row < 0).all())
        ((2,), True)
    """
    starts = [_tokens(lm, prompt, "prompt", start=True) for prompt in prompts]
    every = dict.fromkeys(chain.from_iterable(candidates))
    tokens_of = {one: _tokens(lm, one, "candidate") for one in every}

    def tokens_of_all(names: Sequence[str]) -> list[list[int]]:
        return [tokens_of[name] for name in names]

    # Questions of the same length and number of candidates are read together, without
    # padding.
    by_size: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for q, (start, row) in enumerate(zip(starts, candidates, strict=True)):
        if not row:
            raise DataError(f"'{prompts[q]}' has no candidates; expected at least one")
        by_size[len(start), len(row)].append(q)
    scores_of: dict[int, Floats] = {}
    with torch.inference_mode():
        for (_, number), group in sorted(by_size.items()):
            size = max(1, _ROWS // number)
            for at in range(0, len(group), size):
                block = group[at : at + size]
                given = [starts[q] for q in block]
                rows = [tokens_of_all(candidates[q]) for q in block]
                scores = _score(lm, given, rows)
                scores_of |= dict(zip(block, scores, strict=True))
                if progress:
                    progress(len(scores_of), len(prompts))
    return [scores_of[q] for q in range(len(prompts))]


def generate(
    lm: LanguageModel,
    prompts: Sequence[str],
    *,
    tokens: int = 12,
    stop: str = ".\n",
    names: Sequence[str] = (),
    generator: torch.Generator | None = None,
    progress: Tell | None = None,
) -> list[str]:
    """Continue each prompt with the most likely tokens, or sampled ones, until the text ends.

    Args:
        lm: The model.
        prompts: The prompts.
        tokens: Maximum number of tokens of a continuation; by default 12.
        stop: Characters at which the text is cut; by default a full stop or a line
            end. If empty, the text ends only at the end-of-text token or after
            ``tokens`` tokens.
        names: Names in which a stop character does not end the text, such as
            ``Dr. Lee``; by default none.
        generator: CPU random generator used to sample each token at temperature 1. If
            it is ``None`` (the default), the most likely token is chosen at each step.
        progress: Function that is called with the number of prompts done and their
            total number; ``None`` for no progress reports.

    Returns:
        One text per prompt, without the prompt, the stop character or surrounding
        spaces.

    Raises:
        DataError: A prompt has no tokens.

    Example:
        >>> from inweights.lm import load_model
        >>> len(generate(load_model("@tiny"), ["Rome", "Oslo", "A"], tokens=2))
        3
    """
    ending = Ending(tokens, stop, names)
    return generate_stored(lm, prompts, ending, None, generator, progress)


def generate_stored(
    lm: LanguageModel,
    prompts: Sequence[str],
    ending: Ending,
    begun: BegunPart | None,
    generator: torch.Generator | None,
    progress: Tell | None = None,
) -> list[str]:
    """Continue prompts like :func:`generate`, and store texts so that calls can be resumed.

    Args:
        lm: The model.
        prompts: The prompts.
        ending: Conditions under which a text ends.
        begun: Part of a file in which the texts are stored, so that the next call can
            continue; if ``None``, they are not stored.
        generator: CPU random generator used to sample tokens; if it is ``None``, the
            most likely token is chosen at each step.
        progress: Function that is called with the number of prompts done and their
            total number; ``None`` for no progress reports.

    Returns:
        One text per prompt, without the prompt, the stop character or surrounding
        spaces.

    Raises:
        DataError: A prompt has no tokens, or the texts cannot be stored.
    """
    starts = [_tokens(lm, prompt, "prompt", start=True) for prompt in prompts]
    order = sorted(range(len(starts)), key=lambda q: len(starts[q]))
    names = tuple(name for name in ending.names if set(ending.stop) & set(name))
    ending = replace(ending, names=names)
    completions = begun.restore(generator) if begun else {}
    with torch.inference_mode():
        for at in range(0, len(order), _TOGETHER):
            block = order[at : at + _TOGETHER]
            # Texts are stored by blocks: if the last text of a block is stored, so are
            # all others.
            if block[-1] in completions:
                continue
            given = [starts[q] for q in block]
            texts = _continue(lm, given, ending, generator)
            completions |= dict(zip(block, texts, strict=True))
            if begun:
                begun.keep(completions, generator)
            if progress:
                progress(len(completions), len(prompts))
    return [completions[q] for q in range(len(prompts))]


def _continue(
    lm: LanguageModel,
    starts: list[list[int]],
    ending: Ending,
    generator: torch.Generator | None,
) -> list[str]:
    """Continue a batch of prompts; shorter ones are padded on the left."""
    longest = max(map(len, starts))
    pads = [longest - len(start) for start in starts]
    pad = lm.tokenizer.pad_token_id
    given = []
    real = []
    for missing, start in zip(pads, starts, strict=True):
        given.append([pad] * missing + start)
        real.append([0] * missing + [1] * len(start))
    step = torch.tensor(given).to(lm.device)
    mask = torch.tensor(real).to(lm.device)
    grown: list[list[int]] = [[] for _ in starts]
    texts = [""] * len(starts)
    over = [False] * len(starts)
    read: dict[str, Any] = {}
    for _ in range(ending.tokens):
        known: dict[str, Any] = {}
        if any(pads):
            # Padding precedes the texts, so positions are counted from the first token
            # of each text.
            counted = (mask.cumsum(1) - 1).clamp(min=0)
            places = counted[:, -step.shape[1] :]
            known = {"attention_mask": mask, "position_ids": places}
        out = lm.model(input_ids=step, use_cache=True, **read, **known)
        read = _read(out)
        step = _next(out.logits[:, -1], generator)
        mask = torch.cat([mask, torch.ones_like(step)], 1)
        for row, token in enumerate(step[:, 0].tolist()):
            if over[row]:
                continue
            if token == lm.tokenizer.eos_token_id:
                over[row] = True
                continue
            grown[row].append(token)
            text = lm.tokenizer.decode(grown[row])
            texts[row], over[row] = cut(text, ending.stop, ending.names)
        if all(over):
            break
    return list(map(str.strip, texts))


def _read(out: Any) -> dict[str, Any]:
    """Return the key-value cache as a keyword argument of the installed ``transformers``."""
    name = "cache" if "cache" in out else "past_key_values"
    return {name: out[name]}


def _next(logits: torch.Tensor, generator: torch.Generator | None) -> torch.Tensor:
    """Return the next token of each row: the most likely one, or a drawn one."""
    if generator is None:
        return logits.argmax(-1, keepdim=True)
    # Tokens are drawn on the CPU, so that they are the same on every device.
    shares = logits.float().softmax(-1).cpu()
    return torch.multinomial(shares, 1, generator=generator).to(logits.device)


def _score(
    lm: LanguageModel, starts: Sequence[list[int]], rows: Sequence[list[list[int]]]
) -> list[Floats]:
    """Score questions whose prompts have the same length and the same number of candidates."""
    number = len(rows[0])
    flat = list(chain.from_iterable(rows))
    table, real = padded(flat, 0)
    ids = torch.from_numpy(table).to(lm.device)
    mask = torch.from_numpy(real).to(lm.device)
    prompt = torch.tensor(starts, device=lm.device)
    longer = ids.shape[1] > 1
    out = lm.model(input_ids=prompt, use_cache=longer)
    next_token = out.logits[:, -1].float().log_softmax(-1)
    first = next_token.repeat_interleave(number, 0)
    total = first.gather(1, ids[:, :1])[:, 0].double()
    if longer:
        # Candidates of a single token are already scored; only longer ones are read.
        more = [i for i, candidate in enumerate(flat) if len(candidate) > 1]
        read = _read(out)
        # The prompt is read only once, and all candidates use copies of its keys and
        # values.
        for cache in read.values():
            cache.batch_repeat_interleave(number)
            cache.batch_select_indices(torch.tensor(more, device=lm.device))
        behind = lm.model(input_ids=ids[more, :-1], **read).logits.float()
        own = behind.gather(2, ids[more, 1:, None])[..., 0]
        scores = own - behind.logsumexp(-1)
        total[more] += (scores.double() * mask[more, 1:]).sum(1)
    return list(total.cpu().numpy().reshape(len(rows), number))


def _tokens(
    lm: LanguageModel, text: str, what: str, *, start: bool = False
) -> list[int]:
    """Return the tokens of a text, or raise a DataError if there are none."""
    ids = lm.tokens(text, start=start)
    if not ids:
        raise DataError(
            f"the {what} '{text}' has no tokens; expected text that the model can read"
        )
    return ids
