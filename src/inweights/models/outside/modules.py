"""Modules of a factory: how one is made from a seed, and what it reads, gives and drops.

Shapes: ``B`` sequences, ``T`` positions, ``V`` tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, InweightsError
from inweights.models.outside.rowwise import Noise, Rows
from inweights.seeds import INITIALISATION, Streams

if TYPE_CHECKING:
    from inweights.models.outside.module_configs import WrapConfig

#: Shape of the batch that a module is tried with: no width of a state is likely to be
#: the same.
_TRIED = (3, 2)
_USES_TOKENS = "; does it use the number of tokens that the factory is given?"


@dataclass(frozen=True)
class Form:
    """What a module does with token ids.

    Attributes:
        states: Names of the submodules whose output is a state ``[B, T, D]``, in the
            order in which they end.
        last_only: Whether there are logits of the last position alone.
        dropout: The largest rate of its dropout.
        table: Name of the embedding that reads the token ids; empty where there is
            none.
        head: Name of the linear layer that gives the logits, and
        norm: of the norm that it reads; empty where there is none.
        lens: Names of the states that the head can read, and
        deepest: of those that it reads.
    """

    states: tuple[str, ...] = ()
    last_only: bool = False
    dropout: float = 0.0
    table: str = ""
    head: str = ""
    norm: str = ""
    lens: tuple[str, ...] = ()
    deepest: tuple[str, ...] = ()


def made(config: WrapConfig, vocabulary: int, seed: int) -> nn.Module:
    """Return a new module of a factory, with an initialisation that a seed decides.

    Args:
        config: The factory and its options.
        vocabulary: Number of tokens.
        seed: Root seed; torch, NumPy and ``random`` are seeded meanwhile, and put back.

    Raises:
        ConfigError: The factory fails, returns no module, or returns one that replicas
            cannot have; see :func:`checked`.
    """
    label = config.label
    with _seeded(Streams(seed).seed(INITIALISATION, "module")):
        try:
            module = config.make(vocabulary)
        except InweightsError:
            raise
        except Exception as error:
            raise ConfigError(
                f"the factory '{label}' failed with vocabulary={vocabulary}: "
                f"{type(error).__name__}: {error}"
            ) from error
    if not isinstance(module, nn.Module):
        raise ConfigError(
            f"the factory '{label}' must return a torch.nn.Module, got {type(module).__name__}"
        )
    return checked(module, label)


def checked(module: nn.Module, label: str) -> nn.Module:
    """Return a module in evaluation mode, after refusing what replicas cannot have.

    Args:
        module: The module.
        label: What messages call it.

    Raises:
        ConfigError: It keeps statistics of batches, draws dropout of its own, or holds
            modules where PyTorch does not find them; the message says what to use
            instead.
    """
    known = {id(one) for one in (*module.modules(), *module.parameters())}
    for name, part in module.named_modules():
        place = f"'{name}' ({type(part).__name__}) of '{label}'"
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            raise ConfigError(
                f"{place} keeps statistics of batches, which are state that no optimizer makes; "
                "use LayerNorm or GroupNorm"
            )
        if isinstance(part, nn.RNNBase) and part.dropout:
            raise ConfigError(
                f"{place} draws its dropout itself; put nn.Dropout between layers"
            )
        for key, value in vars(part).items():
            inside = value if isinstance(value, list | tuple) else ()
            hidden = [
                one for one in inside if isinstance(one, nn.Module | nn.Parameter)
            ]
            if any(id(one) not in known for one in hidden):
                raise ConfigError(
                    f"{place} holds modules in a plain list, '{key}', where PyTorch does not find "
                    "their parameters; use nn.ModuleList or nn.ParameterList"
                )
    return module.eval()


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed everything that a module may draw its start from, and put it back."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # noqa: TID251  # a module draws from nothing else
        random.seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


def logits_of(output: Any, read: Callable[[Any], Any] | None = None) -> Any:
    """Return the logits within what a module returned.

    Args:
        output: A tensor, an object with ``.logits``, or a tuple that begins with one of
            them.
        read: Returns the logits of any other output; by default they are found as
            above.
    """
    if read is not None:
        return read(output)
    if isinstance(output, tuple) and output and not hasattr(output, "logits"):
        output = output[0]
    return getattr(output, "logits", output)


def state_of_output(output: Any) -> Any:
    """Return the state within what a submodule returned: a tensor, or the first of several."""
    if hasattr(output, "last_hidden_state"):
        return output.last_hidden_state
    return output[0] if isinstance(output, tuple) and output else output


def exactly(state: Tensor) -> Tensor:
    """Return a state as numbers that probes can read; half precision widens to the same numbers."""
    return state.float() if state.dtype in (torch.bfloat16, torch.float16) else state


def with_state(output: Any, state: Tensor) -> Any:
    """Return an output of a submodule with another state in it, in the precision that it had.

    Args:
        output: What the submodule returned.
        state: The state, of the shape of the one in the output.
    """
    state = state.to(state_of_output(output).dtype)
    if hasattr(output, "last_hidden_state"):
        output.last_hidden_state = state
        return output
    return (state, *output[1:]) if isinstance(output, tuple) else state


def check_new(base: nn.Module, modules: Sequence[nn.Module], label: str) -> None:
    """Check that a factory makes new modules; else replicas would share, and train, one module.

    Args:
        base: A module of the factory.
        modules: Others.
        label: What messages call the factory.

    Raises:
        ConfigError: A module shares parameters with ``base``.
    """
    known = {id(parameter) for parameter in base.parameters()}
    for module in modules:
        if any(id(parameter) in known for parameter in module.parameters()):
            raise ConfigError(
                f"the factory '{label}' returns the same module at each call, which all replicas "
                "would share and train. If the module is trained, give it itself: "
                "iw.wrap(module) has its weights, copied. If each seed is to start anew, make a "
                "new one in the factory"
            )


@torch.no_grad()
def form_of(
    module: nn.Module, vocabulary: int, read: Callable[[Any], Any] | None, label: str
) -> Form:
    """Find out what a module does with token ids, by calling it with a small batch.

    Args:
        module: The module.
        vocabulary: Number of tokens.
        read: Returns the logits of its output; ``None`` where they are found by
            themselves.
        label: What messages call it.

    Raises:
        ConfigError: It fails, draws random numbers other than dropout, or does not give
            finite logits of all tokens.
    """
    batch, length = _TRIED
    tokens = (vocabulary - 1 - torch.arange(batch * length).view(_TRIED)) % vocabulary
    seen: dict[str, Tensor] = {}
    tables: list[str] = []
    calls: dict[str, tuple[nn.Module, Tensor, Tensor]] = {}

    def watch(name: str) -> Any:
        def note(part: nn.Module, inputs: Any, output: Any) -> None:
            if isinstance(part, nn.Embedding) and any(one is tokens for one in inputs):
                tables.append(f"{name}.weight")
            state = state_of_output(output)
            if (
                isinstance(state, Tensor)
                and state.dim() == 3
                and state.shape[:2] == _TRIED
            ):
                seen.pop(name, None)
                seen[name] = state
            if inputs and isinstance(inputs[0], Tensor) and isinstance(state, Tensor):
                calls[name] = (part, inputs[0], state)

        return note

    hooks = [
        part.register_forward_hook(watch(n)) for n, part in module.named_modules() if n
    ]
    noise = Noise(Rows(0, 1), None)
    try:
        with torch.random.fork_rng(devices=[]), noise.drawn():
            before = torch.get_rng_state()
            output = module.train()(tokens)
            drew = not torch.equal(before, torch.get_rng_state())
    except Exception as error:
        raise ConfigError(
            f"'{label}' must read token ids of shape [B, T], here {list(_TRIED)}, from 0 to "
            f"{vocabulary - 1}, and failed: {type(error).__name__}: {error}"
            + _USES_TOKENS
            * isinstance(error, IndexError)
        ) from error
    finally:
        module.eval()
        for hook in hooks:
            hook.remove()
    if drew:
        raise ConfigError(
            f"'{label}' draws random numbers while it trains, and not by torch.nn.functional's "
            "dropout or attention, so that its runs could not be repeated; use nn.Dropout"
        )
    logits = logits_of(output, read)
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise ConfigError(
            f"'{label}' returns a {type(logits).__name__} and no logits; return a tensor "
            "[B, T, V] or [B, V], an object with .logits, or give wrap(..., logits=function)"
        )
    shape = tuple(logits.shape)
    of_last = shape[:-1] in (_TRIED[:1], (batch, 1))
    if not (of_last or shape[:-1] == _TRIED) or shape[-1] < vocabulary:
        raise ConfigError(
            f"'{label}' gives logits of shape {list(shape)} for {batch} sequences of {length} of "
            f"{vocabulary} tokens; expected [{batch}, {length}, {vocabulary}] or [{batch}, "
            f"{vocabulary}]{_USES_TOKENS}"
        )
    if not bool(logits.isfinite().all()):
        raise ConfigError(
            f"'{label}' gives logits that are infinite or not numbers before it is trained; look "
            "at its initialisation"
        )
    states = {name: state for name, state in seen.items() if state is not logits}
    form = Form(tuple(states), of_last, noise.rate, tables[0] if tables else "")
    of = {name: type(part).__name__ for name, (part, _, _) in calls.items()}
    heads = [
        n
        for n, (_, _, out) in calls.items()
        if "Linear" in of[n] and _same(out, logits)
    ]
    if not heads:
        return form
    fed = calls[heads[-1]][1]
    norms = [
        n for n, (_, _, out) in calls.items() if "Norm" in of[n] and _same(out, fed)
    ]
    return replace(
        form,
        head=heads[-1],
        norm=norms[-1] if norms else "",
        lens=tuple(
            n for n, state in states.items() if state.shape[-1] == fed.shape[-1]
        ),
        deepest=tuple(n for n, state in states.items() if _same(state, fed)),
    )


def _same(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are the same numbers in memory, one maybe sliced as a whole."""
    return (one.data_ptr(), one.shape) == (other.data_ptr(), other.shape)


class _Node(nn.Module):
    def extra_repr(self) -> str:
        own = [
            *self.named_parameters(recurse=False),
            *self.named_buffers(recurse=False),
        ]
        return ", ".join(f"{name} {list(tensor.shape)}" for name, tensor in own)


def place(root: nn.Module, name: str, value: Tensor, *, stored: bool) -> None:
    """Keep a tensor below a module under a dotted name.

    The tree is written directly, as a name such as ``hidden`` may be that of a method,
    too.

    Args:
        root: The module.
        name: Dotted name; modules on the way are made.
        value: A parameter, or a tensor that becomes a buffer.
        stored: Whether a buffer is part of the state that is saved.

    Raises:
        ConfigError: The library uses the name itself.
    """
    *path, last = name.split(".")
    for step in path:
        root = root._modules.setdefault(step, _Node())  # type: ignore[assignment]
    if isinstance(value, nn.Parameter):
        root._parameters[last] = value
        return
    if last in root._buffers:
        raise ConfigError(
            f"the name '{last}' is reserved by the library; choose another"
        )
    root._buffers[last] = value
    if not stored:
        root._non_persistent_buffers_set.add(last)


def find(root: nn.Module, name: str) -> Tensor:
    """Return the tensor that :func:`place` keeps under a name.

    Args:
        root: The module.
        name: Dotted name.
    """
    *path, last = name.split(".")
    for step in path:
        root = root._modules[step]  # type: ignore[assignment]
    found = root._parameters.get(last)
    return root._buffers[last] if found is None else found  # type: ignore[return-value]


def numbers(module: nn.Module, *, again: bool = False) -> dict[str, Tensor]:
    """Return parameters and buffers of a module, by name.

    Args:
        module: The module.
        again: Whether those with several names are returned under each of them.
    """
    kinds = (module.named_parameters, module.named_buffers)
    return {
        name: one for kind in kinds for name, one in kind(remove_duplicate=not again)
    }
