"""Find out how a module maps token ids to logits, by calling it once: :class:`Form`.

:func:`form_of` calls a module with a small batch and records its states, its head and
its dropout. The other functions read and replace values in the output of a module or
submodule. Shapes: ``B`` sequences, ``T`` positions, ``D`` width, ``V`` tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError
from inweights.models.outside.replicas.rowwise import Noise, Rows

#: Shape of the batch with which a module is tried, ``(B, T)``. It is unlikely that
#: other axes of its states have these sizes.
_TRIED = (3, 2)
_USES_TOKENS = "; does it use the number of tokens that the factory is given?"


@dataclass(frozen=True)
class Form:
    """Description of how a module maps token ids to logits.

    Attributes:
        states: Names of the submodules whose output contains a state ``[B, T, D]``, in
            the order in which their calls return.
        last_only: Whether the module returns logits only for the last position.
        dropout: The largest dropout rate of the module; 0 without dropout.
        table: Name of the weight of the embedding that reads the token ids, such as
            ``emb.weight``; empty if there is none.
        head: Name of the linear layer that computes the logits; empty if there is none.
        norm: Name of the norm before the head; empty if there is none.
        lens: Names of the states that have the input width of the head, so that the
            head can decode them.
        deepest: Names of the states that equal the input of the head.
    """

    states: tuple[str, ...] = ()
    last_only: bool = False
    dropout: float = 0.0
    table: str = ""
    head: str = ""
    norm: str = ""
    lens: tuple[str, ...] = ()
    deepest: tuple[str, ...] = ()


def logits_of(output: Any, read: Callable[[Any], Any] | None = None) -> Any:
    """Return the logits from a module's output.

    Args:
        output: Output of the module. If ``read`` is not given: a tensor, an object with
            ``.logits``, or a tuple whose first element is one of these.
        read: Function of the output that returns the logits; by default they are looked
            up as described for ``output``.

    Returns:
        The logits, or the result of ``read``. An output of any other kind is returned
        unchanged.
    """
    if read is not None:
        return read(output)
    if isinstance(output, tuple) and output and not hasattr(output, "logits"):
        output = output[0]
    return getattr(output, "logits", output)


def state_of_output(output: Any) -> Any:
    """Return the state in a submodule's output: ``last_hidden_state``, or a tuple's first element.

    Any other output is returned unchanged, even if it is not a tensor.

    Args:
        output: The output of the submodule.
    """
    if hasattr(output, "last_hidden_state"):
        return output.last_hidden_state
    return output[0] if isinstance(output, tuple) and output else output


def exactly(state: Tensor) -> Tensor:
    """Convert a half-precision state to float32; return any other state unchanged.

    Args:
        state: Any tensor.
    """
    return state.float() if state.dtype in (torch.bfloat16, torch.float16) else state


def with_state(output: Any, state: Tensor) -> Any:
    """Return a submodule's output with its state replaced, in the precision of the original.

    An object with ``last_hidden_state`` is changed in place; otherwise a new output is
    returned.

    Args:
        output: Output of the submodule.
        state: The new state, with the same shape as the state in the output.
    """
    state = state.to(state_of_output(output).dtype)
    if hasattr(output, "last_hidden_state"):
        output.last_hidden_state = state
        return output
    return (state, *output[1:]) if isinstance(output, tuple) else state


@torch.no_grad()
def form_of(
    module: nn.Module, vocabulary: int, read: Callable[[Any], Any] | None, label: str
) -> Form:
    """Find out how a module maps token ids to logits, by calling it with a small batch.

    Args:
        module: The module.
        vocabulary: Number of tokens.
        read: Function that extracts the logits from the module's output; ``None`` if
            :func:`logits_of` can find them.
        label: Name of the module in messages.

    Returns:
        A :class:`Form` with all attributes set. If no linear layer computes the logits,
        ``head``, ``norm``, ``lens`` and ``deepest`` are empty.

    Raises:
        ConfigError: The call fails, draws random numbers for anything other than
            dropout, or does not return finite logits of at least ``vocabulary`` tokens,
            for all positions or for the last one.
        Exception: Any error raised by ``read``.
    """
    batch, length = _TRIED
    # Ids are counted down from the largest one, so that an embedding table that is too
    # small raises an error at once.
    tokens = (vocabulary - 1 - torch.arange(batch * length).view(_TRIED)) % vocabulary
    calls = _Calls(tokens)
    noise = Noise(Rows(0, 1), None)
    output = _tried(module, calls, noise, vocabulary, label)
    logits = logits_of(output, read)
    of_last = _check_logits(logits, vocabulary, label)
    states = {n: state for n, state in calls.states.items() if state is not logits}
    form = Form(
        states=tuple(states),
        last_only=of_last,
        dropout=noise.rate,
        table=calls.tables[0] if calls.tables else "",
    )
    heads = calls.returning(logits, "Linear")
    if not heads:
        return form
    # The deepest state is the input of the head, after a final norm if there is one.
    fed = calls.inputs[heads[-1]]
    norms = calls.returning(fed, "Norm")
    width = fed.shape[-1]
    return replace(
        form,
        head=heads[-1],
        norm=norms[-1] if norms else "",
        lens=tuple(n for n, state in states.items() if state.shape[-1] == width),
        deepest=tuple(n for n, state in states.items() if _same(state, fed)),
    )


class _Calls:
    """Inputs and outputs of the submodules during one call of a module."""

    def __init__(self, tokens: Tensor) -> None:
        self.tokens = tokens
        self.states: dict[str, Tensor] = {}
        self.tables: list[str] = []
        self.kinds: dict[str, str] = {}
        self.inputs: dict[str, Tensor] = {}
        self.outputs: dict[str, Tensor] = {}

    def hook(self, name: str) -> Callable[[nn.Module, Any, Any], None]:
        """Return a forward hook that records the calls of the submodule with the given name."""

        def note(part: nn.Module, inputs: Any, output: Any) -> None:
            reads_tokens = any(one is self.tokens for one in inputs)
            if isinstance(part, nn.Embedding) and reads_tokens:
                self.tables.append(f"{name}.weight")
            state = state_of_output(output)
            if not isinstance(state, Tensor):
                return
            if state.dim() == 3 and state.shape[:2] == _TRIED:
                # A part that is called several times is listed at the position of its
                # last call.
                self.states.pop(name, None)
                self.states[name] = state
            if inputs and isinstance(inputs[0], Tensor):
                self.kinds[name] = type(part).__name__
                self.inputs[name] = inputs[0]
                self.outputs[name] = state

        return note

    def returning(self, wanted: Tensor, kind: str) -> list[str]:
        """Return the names of submodules of a given kind (``Linear``) that returned a tensor."""
        found = []
        for name, output in self.outputs.items():
            if kind in self.kinds[name] and _same(output, wanted):
                found.append(name)
        return found


def _tried(
    module: nn.Module, calls: _Calls, noise: Noise, vocabulary: int, label: str
) -> Any:
    """Return the output of a module in training mode, with hooks that record its submodules."""
    hooks = []
    for name, part in module.named_modules():
        if name:
            hooks.append(part.register_forward_hook(calls.hook(name)))
    try:
        with torch.random.fork_rng(devices=[]), noise.drawn():
            before = torch.get_rng_state()
            output = module.train()(calls.tokens)
            drew = not torch.equal(before, torch.get_rng_state())
    except Exception as error:
        hint = _USES_TOKENS if isinstance(error, IndexError) else ""
        raise ConfigError(
            f"'{label}' must read token ids of shape [B, T], here {list(_TRIED)}, from 0 to "
            f"{vocabulary - 1}, but failed: {type(error).__name__}: {error}{hint}"
        ) from error
    finally:
        module.eval()
        for hook in hooks:
            hook.remove()
    if drew:
        raise ConfigError(
            f"'{label}' draws random numbers during training that do not come from the dropout or "
            "attention functions of torch.nn.functional, so its runs cannot be repeated; use "
            "nn.Dropout"
        )
    return output


def _check_logits(logits: Any, vocabulary: int, label: str) -> bool:
    """Check the logits of a module, and return whether they are only those of the last position."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise ConfigError(
            f"'{label}' must return logits, got {type(logits).__name__}; return a tensor "
            "[B, T, V] or [B, V], an object with .logits, or call wrap(..., logits=function)"
        )
    batch, length = _TRIED
    shape = tuple(logits.shape)
    of_last = shape[:-1] in ((batch,), (batch, 1))
    of_all = shape[:-1] == _TRIED
    if not (of_last or of_all) or shape[-1] < vocabulary:
        raise ConfigError(
            f"'{label}' returns logits of shape {list(shape)} for {batch} sequences of {length} "
            f"tokens from a vocabulary of {vocabulary}; expected [{batch}, {length}, {vocabulary}] "
            f"or [{batch}, {vocabulary}]{_USES_TOKENS}"
        )
    if not bool(logits.isfinite().all()):
        raise ConfigError(
            f"'{label}' returns logits that are infinite or NaN before it is trained; check "
            "its initialisation"
        )
    return of_last


def _same(one: Tensor, other: Tensor) -> bool:
    """Return whether two tensors have the same memory and shape."""
    return (one.data_ptr(), one.shape) == (other.data_ptr(), other.shape)
