"""Write a byte-level tokenizer to a GGUF file: tokens, merges, special tokens, chat template.

:func:`inweights.lm.write_gguf` calls :func:`add_tokens`. GGUF names the rule that
splits text before merging, for which a tokenizer of ``transformers`` has a regular
expression. A tokenizer whose rule has no known name is rejected.
"""

from __future__ import annotations

import json
from typing import Any

from inweights.errors import DataError

#: Parts of the regular expressions by which tokenizers split text before they merge
#: bytes.
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
#: Names in GGUF of two regular expressions, which differ in the number of digits that
#: form one piece.
_EXPRESSIONS = {
    rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}{{1,3}}|{_REST}": "llama-bpe",
    rf"{_CONTRACTIONS}|{_WORDS}|\p{{N}}|{_REST}": "qwen2",
}
_OWN_SCRIPT = "use convert_hf_to_gguf.py of llama.cpp, which supports more tokenizers"


def add_tokens(writer: Any, tokenizer: Any, rows: int) -> None:
    """Write a tokenizer to a GGUF file.

    Args:
        writer: A ``gguf.GGUFWriter``.
        tokenizer: A fast tokenizer of ``transformers``.
        rows: Number of rows of the embeddings; rows without a token get placeholder
            names.

    Raises:
        DataError: The tokenizer is not supported; the message says why.
    """
    import gguf

    rules = _rules_of(tokenizer)
    by_id = {number: token for token, number in tokenizer.get_vocab().items()}
    added = tokenizer.added_tokens_decoder
    # Tokens without an embedding are allowed only if they are special: some tokenizers
    # have a special token that their model never had.
    without = [number for number in by_id if number >= rows and number not in added]
    if without:
        raise DataError(
            f"the tokenizer has {max(by_id) + 1} tokens, but the model has embeddings for {rows}"
        )
    tokens, kinds = [], []
    for number in range(rows):
        tokens.append(by_id.get(number, f"[PAD{number}]"))
        if number not in by_id:
            kinds.append(gguf.TokenType.UNUSED)
        elif number not in added:
            kinds.append(gguf.TokenType.NORMAL)
        elif added[number].special:
            kinds.append(gguf.TokenType.CONTROL)
        else:
            kinds.append(gguf.TokenType.USER_DEFINED)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(splitting(rules))
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([_merge(pair) for pair in rules["model"]["merges"]])
    for name in ("bos", "eos", "unk", "pad"):
        number = getattr(tokenizer, f"{name}_token_id")
        if number is not None and number < rows:
            getattr(writer, f"add_{name}_token_id")(number)
    begins = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    writer.add_add_bos_token(begins)
    writer.add_add_space_prefix(False)
    if tokenizer.chat_template:
        writer.add_chat_template(tokenizer.chat_template)


def _rules_of(tokenizer: Any) -> dict[str, Any]:
    """Return the content of ``tokenizer.json``, or raise an error if it is not a byte-level BPE."""
    inner = getattr(tokenizer, "backend_tokenizer", None)
    rules: dict[str, Any] = json.loads(inner.to_str()) if inner else {}
    model = rules.get("model", {})
    steps = _steps(rules.get("pre_tokenizer"))
    of_bytes = any(step["type"] == "ByteLevel" for step in steps)
    if model.get("type") != "BPE" or not of_bytes or model.get("byte_fallback"):
        raise DataError(
            "only byte-level BPE tokenizers can be written as GGUF; the type of this "
            "tokenizer is "
            f"{model.get('type', 'unknown, because it is not a fast tokenizer')}; "
            f"{_OWN_SCRIPT}"
        )
    if not model["merges"]:
        raise DataError(
            "the tokens of this tokenizer are single bytes, without merges; programs that "
            "read GGUF reject such a tokenizer"
        )
    return rules


def splitting(rules: dict[str, Any]) -> str:
    """Return GGUF's name for the rule by which a tokenizer splits text before merging.

    Args:
        rules: Parsed content of ``tokenizer.json``, with ``model``, ``normalizer`` and
            ``pre_tokenizer``.

    Returns:
        ``gpt-2``, ``smollm``, ``llama-bpe``, ``qwen2``, or ``dbrx`` (the same rule as
        ``llama-bpe``, for a tokenizer that builds every word by merging, even if the
        whole word is a token).

    Raises:
        DataError: The rule has no known name, or the tokenizer normalises the text
            before it splits it.

    Example:
        >>> step = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
        >>> splitting({"model": {}, "normalizer": None, "pre_tokenizer": step})
        'gpt-2'
    """
    steps = _steps(rules["pre_tokenizer"])
    last = steps[-1]
    before = [_step_name(step) for step in steps[:-1]]
    normal = (rules.get("normalizer") or {}).get("type")
    found = None
    if last["type"] == "ByteLevel" and not last["add_prefix_space"]:
        if before == [] and last["use_regex"]:
            found = "gpt-2"
        elif before == ["digits"] and last["use_regex"]:
            found = "smollm"
        elif len(before) == 1 and not last["use_regex"]:
            found = before[0]
    if found == "llama-bpe" and not rules["model"].get("ignore_merges"):
        # The same expression, but merges also apply to whole words of the vocabulary.
        found = "dbrx"
    # llama.cpp does not normalise text. Qwen's normalisation only joins letters and
    # accents.
    normalizes = normal is not None and (normal, found) != ("NFC", "qwen2")
    if found is None or normalizes:
        raise DataError(
            "GGUF has no known name for the rule by which this tokenizer splits text; "
            "the supported rules are those of GPT-2, SmolLM, Llama 3 and Qwen; "
            f"{_OWN_SCRIPT}"
        )
    return found


def _steps(rule: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the steps that split text, in their order."""
    if rule is None:
        return []
    if rule["type"] == "Sequence":
        steps: list[dict[str, Any]] = rule["pretokenizers"]
        return steps
    return [rule]


def _step_name(step: dict[str, Any]) -> str | None:
    """Return the name of a step before the last one."""
    if step["type"] == "Digits" and step["individual_digits"]:
        return "digits"
    if step["type"] == "Split" and step["behavior"] == "Isolated":
        return _EXPRESSIONS.get(step["pattern"].get("Regex", ""))
    return None


def _merge(pair: str | list[str]) -> str:
    """Return the two tokens that are merged, as one text."""
    return pair if isinstance(pair, str) else " ".join(pair)
