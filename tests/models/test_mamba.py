"""Mamba: the contract of models, comparison with transformers, and its causal structure."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.model_case import ModelCase
from torch import nn

from inweights.errors import ConfigError
from inweights.models import Init, Mamba, MambaConfig, pack
from inweights.models.mamba import Mixer
from inweights.training import Curriculum, Optimizer, Phase, train
from inweights.worlds import TwoHop

#: Above this rate, gradient descent is unstable and amplifies rounding errors.
RATES: dict[str, tuple[float, ...]] = {
    "sgd": (0.03, 0.05, 0.1),
    "adamw": (1e-3, 3e-3, 1e-2),
}


class TestMamba(ModelCase):
    rates = RATES
    config = MambaConfig(layers=2, width=16, state=4, init=Init(std=0.1))


#: Settings of the code of Geometric Memory that differ from Mamba's paper
#: (models/mamba.py).
AUTHORS: dict[str, Any] = {
    "residual": False,
    "norm": "layer",
    "final_norm": False,
    "convolution": "uniform",
    "first_steps": "equal",
}


class TestMambaOfGeometricMemory(ModelCase):
    rates = RATES
    config = MambaConfig(layers=2, width=16, state=4, init=Init(std=0.1), **AUTHORS)


class TestMambaUntied(ModelCase):
    rates = RATES
    config = MambaConfig(
        layers=1, width=8, state=2, kernel=2, rank=2, tied=False, init=Init(std=0.1)
    )


def fill(model: nn.Module) -> None:
    """Fill all parameters with random numbers, so that none agrees because it is 0 or 1."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))


@torch.no_grad()
def test_equals_transformers() -> None:
    transformers = pytest.importorskip(
        "transformers", reason="pip install 'inweights[hf]' lifts this"
    )
    config = MambaConfig(layers=3, width=32, state=8, kernel=4, rank=5)
    ours = config.build(vocabulary=13, seeds=[0, 1])
    fill(ours)
    theirs = transformers.MambaForCausalLM(
        transformers.MambaConfig(
            vocab_size=13,
            hidden_size=32,
            state_size=8,
            num_hidden_layers=3,
            conv_kernel=4,
            expand=2,
            time_step_rank=5,
            use_conv_bias=True,
            use_bias=False,
            residual_in_fp32=False,
        )
    ).eval()
    for r in (0, 1):
        theirs.backbone.embeddings.weight.copy_(ours.tokens.weight[r])
        last: Any = ours.norm
        theirs.backbone.norm_f.weight.copy_(last.weight[r])
        theirs.lm_head.weight = theirs.backbone.embeddings.weight
        mine: Any
        for mine, other in zip(ours.blocks, theirs.backbone.layers, strict=True):
            mix, mixer = mine.mix, other.mixer
            other.norm.weight.copy_(mine.norm.weight[r])
            mixer.in_proj.weight.copy_(mine.enter.weight[r].T)
            mixer.out_proj.weight.copy_(mine.leave.weight[r].T)
            mixer.conv1d.weight.copy_(mix.convolution[r].unsqueeze(1))
            mixer.conv1d.bias.copy_(mix.shift[r])
            mixer.x_proj.weight.copy_(mix.select.weight[r].T)
            mixer.dt_proj.weight.copy_(mix.steps.weight[r].T)
            first = mix._first_steps(64, mix.shift)
            mixer.dt_proj.bias.copy_(mix.steps.bias[r] + first)
            mixer.A_log.copy_(mix.log_decay[r])
            mixer.D.copy_(mix.skip[r])
        tokens = torch.randint(13, (4, 7), generator=torch.Generator().manual_seed(r))
        torch.testing.assert_close(
            ours(tokens)[r], theirs(tokens).logits, atol=1e-4, rtol=1e-4
        )


@torch.no_grad()
def test_sees_the_past_and_not_the_future() -> None:
    model = MambaConfig(layers=2, width=16, state=4).build(vocabulary=9, seeds=[0])
    fill(model)
    one = torch.tensor([[1, 2, 3, 4, 5, 6]])
    late, early = one.clone(), one.clone()
    late[0, 5], early[0, 0] = 8, 8
    logits = model(one)[0, 0]
    torch.testing.assert_close(model(late)[0, 0, :5], logits[:5])
    assert (
        model(early)[0, 0, 5] - logits[5]
    ).abs().max() > 1e-4  # outside the kernel, information can only come from the state


@torch.no_grad()
def test_without_residual_a_block_is_all_there_is() -> None:
    model = MambaConfig(layers=1, width=16, residual=False).build(
        vocabulary=9, seeds=[0]
    )
    fill(model)
    batch = pack([torch.tensor([[1, 2]])])
    states = model.states(batch)
    update = states["block.0"]
    model.get_submodule("blocks.0").residual = True  # type: ignore[assignment]
    torch.testing.assert_close(
        model.states(batch)["block.0"], update + states["embedding"]
    )


class PlainGeometricMemory(nn.Module):
    """The model of models/mamba.py and models/base_model.py, with the mixer of transformers."""

    def __init__(self, layers: int, width: int, tokens: int) -> None:
        super().__init__()
        modeling = pytest.importorskip(
            "transformers.models.mamba.modeling_mamba", reason="needs inweights[hf]"
        )
        config = modeling.MambaConfig(
            hidden_size=width,
            state_size=4,
            conv_kernel=4,
            expand=2,
            num_hidden_layers=layers,
        )
        self.embed = nn.Embedding(tokens, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.mixers = nn.ModuleList(
            modeling.MambaMixer(config, i) for i in range(layers)
        )

    def start_as_authors_do(self) -> None:
        """Initialise the linear maps and the embedding, but not the convolutions."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for norm, mixer in zip(self.norms, self.mixers, strict=True):
            x = mixer(norm(x))
        return x @ self.embed.weight.T


def named_alike(
    ours: Mamba, plain: PlainGeometricMemory, r: int
) -> list[tuple[Any, Any]]:
    """Return the parameters of replica ``r`` with their counterparts, in the same layout."""
    pairs: list[tuple[Any, Any]] = [(ours.tokens.weight[r], plain.embed.weight)]
    block: Any
    for block, norm, mixer in zip(ours.blocks, plain.norms, plain.mixers, strict=True):
        mix = block.mix
        pairs += [
            (block.norm.weight[r], norm.weight),
            (block.norm.bias[r], norm.bias),
            (block.enter.weight[r].T, mixer.in_proj.weight),
            (block.leave.weight[r].T, mixer.out_proj.weight),
            (mix.convolution[r].unsqueeze(1), mixer.conv1d.weight),
            (mix.shift[r], mixer.conv1d.bias),
            (mix.select.weight[r].T, mixer.x_proj.weight),
            (mix.steps.weight[r].T, mixer.dt_proj.weight),
            (mix.steps.bias[r], mixer.dt_proj.bias),
            (mix.log_decay[r], mixer.A_log),
            (mix.skip[r], mixer.D),
        ]
    return pairs


@torch.no_grad()
def test_equals_the_authors_of_geometric_memory() -> None:
    ours = MambaConfig(layers=2, width=32, state=4, **AUTHORS).build(
        vocabulary=13, seeds=[0, 1]
    )
    fill(ours)
    plain = PlainGeometricMemory(2, 32, 13).eval()
    for r in (0, 1):
        for mine, theirs in named_alike(ours, plain, r):
            theirs.copy_(mine)
        tokens = torch.randint(13, (4, 7), generator=torch.Generator().manual_seed(r))
        torch.testing.assert_close(ours(tokens)[r], plain(tokens), atol=1e-4, rtol=1e-4)


@torch.no_grad()
def test_starts_as_the_authors_of_geometric_memory() -> None:
    """The mean, spread and shape of every parameter's initial distribution agree."""
    draws = 16
    ours = MambaConfig(layers=1, width=128, state=4, **AUTHORS).build(
        vocabulary=99, seeds=draws
    )
    pairs = []
    for r in range(draws):
        plain = PlainGeometricMemory(1, 128, 99)
        plain.start_as_authors_do()
        pairs.append(named_alike(ours, plain, r))
    for parameter in zip(*pairs, strict=True):
        mine = torch.stack([one for one, _ in parameter])
        theirs = torch.stack([other for _, other in parameter])
        assert mine.shape == theirs.shape
        # Six standard errors of the difference of two samples of normal numbers. Uniform
        # numbers vary less.
        error = 6 / mine.numel() ** 0.5
        spread = theirs.std().item()
        assert mine.std().item() == pytest.approx(spread, rel=error)
        mean = theirs.mean().item()
        assert mine.mean().item() == pytest.approx(mean, abs=error * 2**0.5 * spread)
        inside = share_within_one_spread(theirs)
        assert share_within_one_spread(mine) == pytest.approx(
            inside, abs=error / 2**0.5
        )


def share_within_one_spread(numbers: torch.Tensor) -> float:
    """Return the share of entries near their mean: 0.68 if normal, 0.58 if uniform."""
    distances = (numbers - numbers.mean()).abs()
    return (distances <= numbers.std()).float().mean().item()


@torch.no_grad()
def test_groups_of_lengths_do_not_mix() -> None:
    model = MambaConfig(layers=2, width=16, state=4).build(vocabulary=9, seeds=[0, 1])
    fill(model)
    one, other = torch.tensor([[1, 2, 3]]), torch.tensor([[4], [5]])
    together = model(pack([one, other]))
    torch.testing.assert_close(together[:, :3], model(one)[:, 0])
    torch.testing.assert_close(together[:, 3:], model(other)[:, :, 0])


def test_first_steps_lie_between_their_bounds() -> None:
    biases = Mixer(MambaConfig(width=32), 1)._first_steps(64, torch.zeros(1))
    first = nn.functional.softplus(torch.as_tensor(biases))
    assert first.min() == pytest.approx(1e-3, rel=1e-3)
    assert first.max() == pytest.approx(1e-1, rel=1e-3)


def test_learns_facts() -> None:
    world = TwoHop(n=4).build()
    model = MambaConfig(layers=1, width=32, state=4).build(
        vocabulary=len(world.vocabulary), seeds=[0, 1]
    )
    phase = Phase(steps=150, optimizer=Optimizer(rate=1e-2))
    losses = train(model, world, Curriculum(phases=(phase,)), seeds=[0, 1]).losses[
        "loss"
    ]
    assert losses[0] > 2
    assert max(losses[-2:]) < 0.05
    assert isinstance(model, Mamba)


@pytest.mark.parametrize("field", ["layers", "width", "state", "kernel", "expand"])
def test_sizes_are_at_least_one(field: str) -> None:
    with pytest.raises(ConfigError, match=f"mamba.{field}"):
        MambaConfig(**{field: 0})  # type: ignore[arg-type]
