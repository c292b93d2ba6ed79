"""Fine-tuning makes the updates of TRL's trainer and of a loop of plain PyTorch."""

from __future__ import annotations

import pytest
from benchmarks.finetuning.cases import BATCH, SEED, Case, examples_of
from benchmarks.finetuning.peers import PEERS
from tests.lm.four_facts import weights

from inweights.lm import encode, finetune, load_model
from inweights.lm.model.data import batches

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


@pytest.mark.parametrize("method", ["lora", "full"])
@pytest.mark.parametrize("peer", PEERS)
def test_losses_and_weights_are_those_of_other_trainers(peer, method) -> None:
    if peer == "TRL":
        pytest.importorskip("trl", reason="pip install trl lifts this")
    case = Case(method)
    examples = examples_of(chat=False)[:40]
    mine, theirs = load_model("@tiny"), load_model("@tiny")
    encoded = encode(theirs, examples, end=True)
    order = batches(encoded, BATCH, SEED, 0, 0)
    rows = [[encoded[i] for i in batch] for batch in order]
    losses: list[float] = []
    PEERS[peer](theirs, case, rows, losses.append)
    done = finetune(mine, examples, case.settings, seed=SEED)
    assert len(losses) > 3
    assert done.losses["loss"].to_list() == pytest.approx(losses, rel=1e-4)
    assert losses[-1] < losses[0]
    if method == "full":
        assert (weights(mine) - weights(theirs)).abs().max() < 1e-5
