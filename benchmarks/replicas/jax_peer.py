"""The same models in JAX: one run as a function, all runs by ``vmap``, the whole step by ``jit``.

A peer starts from our parameters, matched by name, so that both compute the same.
Shapes are those of one run: ``B`` sequences, ``T`` positions, ``D`` width.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from benchmarks.replicas.cases import Case, Ours
from jax import Array, nn

import inweights as iw
from inweights.models import (
    EmbMLPConfig,
    GPTConfig,
    MambaConfig,
    OneLayerConfig,
    TinyNNConfig,
)
from inweights.models.mamba import STEPS

__all__ = ["Peer"]

Parameters = dict[str, Array]


class Peer:
    """JAX's training step of a case, which starts from our current parameters."""

    def __init__(self, case: Case, ours: Ours) -> None:
        named = dict(ours.model.named_parameters())
        self.parameters = {n: jnp.asarray(p.detach().numpy()) for n, p in named.items()}
        batch = ours.batch
        parts = batch.inputs.tokens.split([b * t for b, t in batch.inputs.shapes])
        groups = [
            jnp.asarray(part.view(shape).numpy())
            for part, shape in zip(parts, batch.inputs.shapes, strict=True)
        ]
        forward = partial(FORWARD[type(case.config)], case.config, groups)
        labels, weights = (
            jnp.asarray(batch.labels.numpy()),
            jnp.asarray(batch.weights.numpy()),
        )
        optimizer = _optimizer(case.optimizer)
        self.state = optimizer.init(self.parameters)

        def loss(parameters: Parameters, labels: Array) -> Array:
            logits = forward(parameters)
            return (
                weights
                * optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            ).sum()

        def total(parameters: Parameters) -> tuple[Array, Array]:
            losses = jax.vmap(loss)(parameters, labels)
            return losses.sum(), losses

        def step(parameters: Parameters, state: Any) -> tuple[Parameters, Any, Array]:
            gradients, losses = jax.grad(total, has_aux=True)(parameters)
            updates, state = optimizer.update(gradients, state, parameters)
            return optax.apply_updates(parameters, updates), state, losses

        self._grad = jax.jit(jax.grad(total, has_aux=True))
        self._step = jax.jit(step, donate_argnums=(0, 1))

    def gradients(self) -> dict[str, Any]:
        return {
            name: np.asarray(g) for name, g in self._grad(self.parameters)[0].items()
        }

    def step(self) -> Any:
        """Make one step of all runs, and return the losses before it."""
        self.parameters, self.state, losses = self._step(self.parameters, self.state)
        return losses.block_until_ready()


def _optimizer(one: iw.Optimizer) -> optax.GradientTransformation:
    if one.kind == "sgd":
        return optax.chain(
            optax.add_decayed_weights(one.weight_decay or 0.0), optax.sgd(one.rate)
        )
    return optax.adamw(
        one.rate,
        *one.betas,
        eps=one.epsilon,
        weight_decay=one.weight_decay or 0.0,
        mask=lambda parameters: {name: p.ndim > 2 for name, p in parameters.items()},
    )


def _norm(p: Parameters, name: str, x: Array) -> Array:
    normal = nn.standardize(x, epsilon=1e-5)
    return normal * p[f"{name}.weight"] + p[f"{name}.bias"]


def _linear(p: Parameters, name: str, x: Array) -> Array:
    bias = p.get(f"{name}.bias")
    y = x @ p[f"{name}.weight"]
    return y if bias is None else y + bias


def _each(per_group: Callable[[Array], Array], groups: list[Array]) -> Array:
    """Return the last position of every sequence, from groups of sequences of one length."""
    return jnp.concatenate([per_group(tokens)[:, -1] for tokens in groups])


def gpt(config: GPTConfig, groups: list[Array], p: Parameters) -> Array:
    def states(tokens: Array) -> Array:
        length = tokens.shape[1]
        visible = jnp.tril(jnp.ones((length, length), bool))
        x = p["tokens.weight"][tokens] + p["positions.weight"][:length]
        for i in range(config.layers):
            at = f"blocks.{i}"
            q, k, v = jnp.split(
                _linear(p, f"{at}.qkv", _norm(p, f"{at}.norm1", x)), 3, -1
            )
            scores = jnp.einsum("btd,bsd->bts", q, k) * config.width**-0.5
            mixed = nn.softmax(jnp.where(visible, scores, -jnp.inf)) @ v
            x = x + _linear(p, f"{at}.out", mixed)
            up = nn.gelu(
                _linear(p, f"{at}.up", _norm(p, f"{at}.norm2", x)), approximate=False
            )
            x = x + _linear(p, f"{at}.down", up)
        return x

    return _norm(p, "norm", _each(states, groups)) @ p["tokens.weight"].T


def emb_mlp(config: EmbMLPConfig, groups: list[Array], p: Parameters) -> Array:
    del config
    sums = [p["tokens.weight"][tokens].sum(1) for tokens in groups]
    return jnp.concatenate(sums) @ p["projection.weight"]


def tiny_nn(config: TinyNNConfig, groups: list[Array], p: Parameters) -> Array:
    del config
    x = _each(lambda tokens: p["tokens.weight"][tokens], groups)
    return _linear(p, "middle", x) @ p["tokens.weight"].T


def one_layer(config: OneLayerConfig, groups: list[Array], p: Parameters) -> Array:
    def mixed(tokens: Array) -> Array:
        scores = p["attention.key_query"][tokens, tokens[:, -1:]]
        return jnp.einsum(
            "bt,btd->bd", nn.softmax(scores), p["attention.value"][tokens]
        )

    h, w = jnp.concatenate([mixed(tokens) for tokens in groups]), p["mlp.weight"]
    inner = nn.relu(h @ w.reshape(-1, w.shape[-1]).T).reshape(len(h), *w.shape[:2])
    return config.kappa * inner.mean(2)


def mamba(config: MambaConfig, groups: list[Array], p: Parameters) -> Array:
    inner, state, rank = config.expand * config.width, config.state, config.steps_rank
    low, high = np.log(STEPS)
    first = jnp.exp(jnp.linspace(low, high, inner))
    first = first + jnp.log(-jnp.expm1(-first))

    def rms(name: str, x: Array) -> Array:
        return (
            x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * p[f"{name}.weight"]
        )

    def mix(at: str, u: Array) -> Array:
        length, kernel = u.shape[1], p[f"{at}.convolution"]
        late = [
            jnp.pad(u, ((0, 0), (back, 0), (0, 0)))[:, :length]
            for back in range(length)
        ]
        parts = [
            one * kernel[:, -1 - back] for back, one in enumerate(late[: config.kernel])
        ]
        u = nn.silu(sum(parts) + p[f"{at}.shift"])
        low, b, c = jnp.split(_linear(p, f"{at}.select", u), [rank, rank + state], -1)
        steps = nn.softplus(_linear(p, f"{at}.steps", low) + first)
        decay, h, rows = (
            -jnp.exp(p[f"{at}.log_decay"]),
            jnp.zeros((len(u), inner, state)),
            [],
        )
        for t in range(length):
            step = steps[:, t, :, None]
            h = jnp.exp(step * decay) * h + step * b[:, t, None] * u[:, t, :, None]
            rows.append((h * c[:, t, None]).sum(-1))
        return jnp.stack(rows, 1) + u * p[f"{at}.skip"]

    def states(tokens: Array) -> Array:
        x = p["tokens.weight"][tokens]
        for i in range(config.layers):
            at = f"blocks.{i}"
            stream, gate = jnp.split(
                _linear(p, f"{at}.enter", rms(f"{at}.norm", x)), 2, -1
            )
            x = x + _linear(p, f"{at}.leave", mix(f"{at}.mix", stream) * nn.silu(gate))
        return x

    return rms("norm", _each(states, groups)) @ p["tokens.weight"].T


FORWARD: dict[type, Callable[..., Array]] = {
    GPTConfig: gpt,
    EmbMLPConfig: emb_mlp,
    TinyNNConfig: tiny_nn,
    OneLayerConfig: one_layer,
    MambaConfig: mamba,
}
