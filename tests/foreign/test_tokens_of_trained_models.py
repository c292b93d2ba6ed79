"""Tokens of a trained model are matched by the world's names, without guessing."""

from __future__ import annotations

import pytest
import torch
from tests.foreign.stranger import gpt
from tests.foreign.test_trained_models import IDS, NAMES, TOKENS, WORLD
from torch import Tensor

import inweights as iw
from inweights.errors import CautionWarning, ConfigError, DataError
from inweights.models import pack

#: Three steps are too few to learn a fact.
pytestmark = pytest.mark.filterwarnings("ignore::inweights.errors.CautionWarning")


class Everywhere(torch.nn.Module):
    """A module that returns logits at every position."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = gpt()

    def forward(self, ids: Tensor) -> Tensor:
        return self.inner(ids, ids)[0]


@torch.no_grad()
def test_tokens_of_the_module_by_the_names_of_the_world() -> None:
    plain = gpt()
    tokens = {name: 60 - 3 * place for place, name in enumerate(NAMES)}
    known = {**tokens, "elsewhere": 63}  # a tokenizer has more tokens than the world
    model = iw.wrap(plain, tokens=known, vocabulary=WORLD.vocabulary)
    theirs = torch.tensor([tokens[name] for name in NAMES])
    assert torch.equal(model(IDS)[0, :, -1], plain(theirs[IDS])[0][:, 0][:, theirs])
    assert torch.equal(iw.wrap(plain, tokens=theirs.tolist())(IDS), model(IDS))
    assert torch.equal(iw.wrap(plain, tokens=tokens)(IDS), model(IDS))
    assert model.token_table is not None
    assert torch.equal(model.token_table[0], plain.lm_head.weight[theirs])
    said = iw.ask(model, WORLD, "a1 r1", best=1)["answer"].item()
    assert (
        said
        == NAMES[int(model(torch.tensor([[0, NAMES.index("r1")]]))[0, 0, -1].argmax())]
    )


def test_tokens_that_do_not_fit_are_not_guessed() -> None:
    plain = gpt()
    with pytest.raises(
        DataError, match=r"reads 64 tokens and the world has 14; .* vocabulary="
    ):
        iw.probes.accuracy(iw.wrap(plain), WORLD)
    with pytest.raises(ConfigError, match="reads 64 tokens and the world has 14"):
        iw.wrap(plain).config.build(vocabulary=TOKENS, seeds=1)
    backwards = {name: place for place, name in enumerate(reversed(NAMES))}
    with pytest.raises(
        DataError, match=r"token 0 of the world must be 'r2', .*, got 'a1'"
    ):
        iw.probes.accuracy(iw.wrap(plain, tokens=backwards), WORLD)
    with pytest.raises(
        DataError, match=r"'tokens' has no id for the world's token 'a1'"
    ):
        iw.wrap(plain, tokens={"ann": 1}, vocabulary=WORLD.vocabulary)
    with pytest.raises(DataError, match=r"but 'a1' and 'a2' both have \[1\]"):
        iw.wrap(plain, tokens={"a1": 1, "a2": 1})
    with pytest.raises(
        DataError,
        match=r"must have ids from 0 to 63, which are the ids of 'GPT', got \[64\]",
    ):
        iw.wrap(plain, tokens={"a1": 64})
    with pytest.raises(ConfigError, match="unknown option of a trained module 'token'"):
        iw.wrap(plain, token={"a1": 1})
    with pytest.raises(
        DataError, match=r"the world has 65 tokens, but 'GPT' returns logits for 64"
    ):
        iw.wrap(plain, vocabulary=65)


@torch.no_grad()
def test_names_of_several_tokens_are_read_whole_and_answer_by_their_first() -> None:
    plain = gpt()
    tokens = {
        name: [3 * place, 50] if place % 2 else [3 * place]
        for place, name in enumerate(NAMES)
    }
    with pytest.warns(
        CautionWarning,
        match=r"7 of 14 names consist of several tokens of 'GPT'.*that of its f",
    ):
        model = iw.wrap(plain, tokens=tokens, vocabulary=WORLD.vocabulary)
    first = [tokens[name][0] for name in NAMES]
    for row, logits in zip(IDS.tolist(), model(IDS)[0, :, -1], strict=True):
        whole = [token for place in row for token in tokens[NAMES[place]]]
        torch.testing.assert_close(logits, plain(torch.tensor([whole]))[0][0, 0, first])
    with pytest.raises(ConfigError, match="every name of the world is a single token"):
        iw.probes.activation_patching(model, WORLD)


@torch.no_grad()
@pytest.mark.parametrize("only_last", [True, False], ids=["last", "everywhere"])
def test_names_of_several_tokens_answer_by_the_sum_of_all(only_last: bool) -> None:
    """Compared with a loop over names and their ids with the plain module."""
    plain = gpt() if only_last else Everywhere()
    tokens = {
        name: [3 * place, 50, 51][: 1 + place % 3] for place, name in enumerate(NAMES)
    }
    with pytest.warns(
        CautionWarning,
        match="the score of an answer is the sum of the log-probabilities",
    ):
        model = iw.wrap(
            [plain, plain], tokens=tokens, vocabulary=WORLD.vocabulary, answers="sum"
        )
    found = model(IDS)
    for row, scores in zip(IDS.tolist(), found[1, :, -1], strict=True):
        whole = [token for place in row for token in tokens[NAMES[place]]]
        expected = []
        for name in NAMES:
            total, read = 0.0, list(whole)
            for token in tokens[name]:
                logits = plain(torch.tensor([read]))
                logits = logits[0] if isinstance(logits, tuple) else logits
                total += logits[0, -1].log_softmax(-1)[token].item()
                read.append(token)
            expected.append(total)
        torch.testing.assert_close(scores, torch.tensor(expected))
    batch = pack([IDS])
    # Rounding in single precision depends on the number of prompts per call.
    torch.testing.assert_close(model(batch, at=batch.last), found[:, :, -1])
    torch.testing.assert_close(model.hidden(IDS)["logits"], found[:, :, -1])
    # A single prompt, and different prompts for each replica, give the same result.
    each = torch.stack([IDS, IDS.flip(0)])
    torch.testing.assert_close(model(each)[1], found[1].flip(0))
    assert iw.probes.accuracy(model, WORLD).height == 2 * 4
    with pytest.raises(ConfigError, match="every name of the world is a single token"):
        iw.probes.activation_patching(model, WORLD)


def test_which_names_cannot_win_is_said() -> None:
    tokens: dict[str, list[int]] = {name: [place] for place, name in enumerate(NAMES)}
    tokens["a2"] = [*tokens["a1"], 40]
    with pytest.warns(
        CautionWarning, match="'a2' begins with all tokens of 'a1', which is therefore"
    ):
        iw.wrap(gpt(), tokens=tokens, answers="sum")
    with pytest.raises(ConfigError, match="unknown value of answers 'last'"):
        iw.wrap(gpt(), tokens=tokens, answers="last")
