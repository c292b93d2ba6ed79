"""What every model is: parameters with a replica axis, logits over candidates, hidden states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn

from inweights.errors import ConfigError, DataError, check_names
from inweights.models.layers import Embedding, Linear
from inweights.models.packing import Packed, pack
from inweights.support.progress import plural
from inweights.support.showing import Card
from inweights.worlds.arrays import Float, Int

#: What :meth:`Model.hooks` does to a hidden state: ``[R, S, D]`` to the same shape.
Edit = Callable[[Tensor], Tensor]


class Model(nn.Module):
    """Base of all architectures. ``R`` runs are one model whose parameters all start with ``R``.

    A subclass implements :meth:`states`, :attr:`layer_names`, and :meth:`unembed` where it has no
    :attr:`head_matrix`. It passes each state through :meth:`hook`, so that it can be replaced.

    Attributes:
        replicas: Number of runs ``R``.
        vocabulary: Number of tokens ``V``.
        candidates: Token id of every logit column; all tokens unless the model's head covers only
            some.
        column: Logit column of every token; -1 where it has none.
        context: Number of positions; ``None`` where positions do not matter.
    """

    context: int | None = None

    candidates: Int[Tensor, " K"]
    column: Int[Tensor, " V"]

    _edits: Mapping[str, Edit] = {}

    def __init__(
        self, replicas: int, vocabulary: int, candidates: Sequence[int] | None = None
    ) -> None:
        super().__init__()
        if replicas < 1 or vocabulary < 1:
            raise ConfigError(
                f"a model needs at least one replica and one token, got {replicas} and {vocabulary}"
            )
        self.replicas, self.vocabulary = replicas, vocabulary
        listed = list(range(vocabulary)) if candidates is None else [int(i) for i in candidates]
        if len(set(listed)) != len(listed):
            raise ConfigError("a token occurs twice in the candidates of a model")
        # By lists: a write by index costs a model that is only counted, on `meta`, half a second.
        places = [-1] * vocabulary
        for place, token in enumerate(listed):
            places[token] = place
        ids, column = torch.tensor(listed, dtype=torch.long), torch.tensor(places)
        self.register_buffer("candidates", ids, persistent=False)
        self.register_buffer("column", column, persistent=False)

    def columns(self, answers: Int[Tensor, "*n"]) -> Int[Tensor, "*n"]:
        """Return the logit column of each answer token."""
        columns = self.column[answers.to(self.column.device)]
        if (columns < 0).any():
            raise DataError(
                "the model's head does not cover every answer of its world; build the model with "
                "candidates=world.outputs.tolist()"
            )
        return columns

    @property
    def layer_names(self) -> tuple[str, ...]:
        """Names of the hidden states, from shallow to deep."""
        raise NotImplementedError

    @property
    def part_names(self) -> tuple[str, ...]:
        """Names of what hooks may replace besides hidden states: outputs of parts of a layer."""
        return ()

    def states(self, batch: Packed) -> dict[str, Float[Tensor, "R S D"]]:
        """Return every hidden state by layer name, from shallow to deep."""
        raise NotImplementedError

    def unembed(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n K"]:
        """Map the deepest state to logits; by :attr:`head_matrix` where there is one."""
        matrix = self.head_matrix
        if matrix is None:
            raise NotImplementedError
        return torch.bmm(state, matrix)

    def final_norm(self, state: Float[Tensor, "R n D"]) -> Float[Tensor, "R n D"]:
        """Map a state before the deepest to what :meth:`unembed` reads."""
        return state

    def attention_patterns(
        self, tokens: Int[Tensor, "*R B T"]
    ) -> dict[str, Float[Tensor, "R B H T T"]]:
        """Return attention patterns by layer; an architecture without attention refuses.

        Rows attend, columns are attended to: a row sums to 1 and is 0 beyond its own position.
        """
        del tokens
        raise ConfigError(
            f"{type(self).__name__} has no attention and therefore no attention patterns"
        )

    def forward(
        self, inputs: Packed | Int[Tensor, "*R B T"], at: Int[Tensor, " n"] | None = None
    ) -> Float[Tensor, "R *_ K"]:
        """Return logits.

        Args:
            inputs: Token ids ``[B, T]`` (``[R, B, T]`` where replicas differ), or a packed batch.
            at: Positions in the packed axis where logits are wanted; all of them if left out.

        Returns:
            ``[R, B, T, K]`` for token ids, ``[R, S, K]`` or ``[R, len(at), K]`` for a packed batch.
        """
        if isinstance(inputs, Packed):
            return self.unembed(self.deepest(inputs, at))
        return self.forward(pack([inputs])).unflatten(1, inputs.shape[-2:])

    def deepest(self, batch: Packed, at: Int[Tensor, " n"] | None = None) -> Float[Tensor, "R _ D"]:
        """Return the state that is unembedded, at positions ``at`` or at all."""
        return self._select(self.states(batch)[self.layer_names[-1]], at)

    @property
    def head_matrix(self) -> Float[Tensor, "R D K"] | None:
        """Matrix whose product with :meth:`deepest` is the logits; ``None`` without.

        Training with many candidates goes through it chunk by chunk. It is found where a model's
        ``head`` is a matrix without bias, or is left out because ``tokens``, the embedding, serves
        as one. A model that unembeds otherwise needs no more than :meth:`unembed`.
        """
        head, tokens = getattr(self, "head", None), getattr(self, "tokens", None)
        if isinstance(head, Linear) and head.bias is None:
            return head.weight
        if head is None and isinstance(tokens, Embedding):
            table = tokens.weight.transpose(1, 2)
            return table if table.shape[2] == len(self.candidates) else None
        return None

    @property
    def token_table(self) -> Float[Tensor, "R V D"] | None:
        """The table of token embeddings, found as ``tokens``; ``None`` without."""
        table = getattr(getattr(self, "tokens", None), "weight", None)
        return table if isinstance(table, Tensor) else None

    def hidden(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        *,
        layers: Sequence[str] | None = None,
        at: Int[Tensor, " n"] | Literal["last", "all"] = "last",
    ) -> dict[str, Float[Tensor, "R *_ D"]]:
        """Return hidden states by layer.

        Args:
            inputs: As for :meth:`forward`.
            layers: Some of :attr:`layer_names`; all if left out.
            at: ``last`` position of every sequence, ``all`` of them, or positions in the packed
                axis.

        Returns:
            ``[R, n, D]`` each; ``[R, B, T, D]`` for ``all`` positions of token ids.
        """
        if isinstance(at, str):
            check_names("place", [at], ("last", "all"))
        batch = inputs if isinstance(inputs, Packed) else pack([inputs])
        wanted = self._known(self.layer_names if layers is None else layers)
        states = self.states(batch)
        if isinstance(at, str) and at == "all":
            shape = None if isinstance(inputs, Packed) else inputs.shape[-2:]
            return {n: states[n].unflatten(1, shape) if shape else states[n] for n in wanted}
        where = batch.last if isinstance(at, str) else at
        return {name: self._select(states[name], where) for name in wanted}

    def logit_lens(
        self,
        inputs: Packed | Int[Tensor, "*R B T"],
        *,
        layers: Sequence[str] | None = None,
        at: Int[Tensor, " n"] | Literal["last", "all"] = "last",
    ) -> dict[str, Float[Tensor, "R *_ K"]]:
        """Return the logits that each layer's state gives; see :meth:`decode`.

        Arguments are as for :meth:`hidden`, but all :attr:`decodable` layers if left out.
        """
        states = self.hidden(inputs, layers=self.decodable if layers is None else layers, at=at)
        return {name: self.decode(name, state) for name, state in states.items()}

    @property
    def decodable(self) -> tuple[str, ...]:
        """Layers whose states :meth:`decode` takes; all of them."""
        return self.layer_names

    def decode(self, name: str, state: Float[Tensor, "R *n D"]) -> Float[Tensor, "R *n K"]:
        """Map a layer's state to logits, as if it were the deepest.

        A state before the deepest goes through the final norm: the logit lens (nostalgebraist
        2020).
        """
        flat = state.flatten(1, -2)
        read = flat if name == self.layer_names[-1] else self.final_norm(flat)
        return self.unembed(read).unflatten(1, state.shape[1:-1])

    def hook(self, name: str, state: Float[Tensor, "R S D"]) -> Float[Tensor, "R S D"]:
        """Return a hidden state as it is, or as :meth:`hooks` wants it."""
        edit = self._edits.get(name)
        return state if edit is None else edit(state)

    @contextmanager
    def hooks(self, edits: Mapping[str, Edit]) -> Iterator[None]:
        """Replace hidden states until the block is left, whoever runs the model.

        Args:
            edits: A function of a state ``[R, S, D]`` by the name of its layer, or of a part
                (:attr:`part_names`).

        Raises:
            ConfigError: A layer is unknown, or its state did not pass by.

        Example:
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig().build(vocabulary=9, seeds=[0])
            >>> with model.hooks({"sum": torch.zeros_like}):
            ...     model(torch.tensor([[1, 2]])).abs().max().item()
            0.0
        """
        missed = set(self._known(edits, parts=True))

        def seen(name: str, edit: Edit) -> Edit:
            def replace(state: Tensor) -> Tensor:
                missed.discard(name)
                return edit(state)

            return replace

        before = self._edits
        self._edits = {**before, **{name: seen(name, edit) for name, edit in edits.items()}}
        try:
            yield
        finally:
            self._edits = before
        if missed:  # not where the model failed, which says more
            raise ConfigError(
                f"nothing was replaced at {', '.join(sorted(missed))}: run the model within "
                f"hooks; if it ran, {type(self).__name__}.states must pass each state through "
                "self.hook"
            )

    def select(self, replicas: Sequence[int]) -> Model:
        """Return some replicas as a model of their own, which shares nothing with this one.

        Raises:
            ConfigError: There is no such replica, or the model has no config, or numbers without
                the replica axis.

        Example:
            >>> from inweights.models import EmbMLPConfig
            >>> model = EmbMLPConfig(width=4).build(vocabulary=5, seeds=[0, 1, 2])
            >>> bool((model.select([2]).tokens.weight[0] == model.tokens.weight[2]).all())
            True
        """
        config: Any = getattr(self, "config", None)
        state = self.state_dict()
        if config is None or any(v.shape[:1] != (self.replicas,) for v in state.values()):
            raise ConfigError(f"replicas of {type(self).__name__} cannot be taken apart")
        for one in replicas:
            if not 0 <= one < self.replicas:
                raise ConfigError(f"there is no replica {one}; the model has {self.replicas}")
        part: Model = config.build(
            vocabulary=self.vocabulary,
            seeds=[0] * len(replicas),
            candidates=self.candidates.tolist(),
        ).to(self.candidates.device)
        part.load_state_dict({name: value[list(replicas)] for name, value in state.items()})
        return part

    def _repr_html_(self) -> str:
        about = {"layers": ", ".join(self.layer_names)}
        return Card(f"{type(self).__name__}: {self.extra_repr()}", about).html

    def extra_repr(self) -> str:
        each = sum(parameter[0].numel() for parameter in self.parameters())
        return (
            f"{plural(self.replicas, 'replica')} of {each:,} parameters, "
            f"{self.vocabulary:,} tokens, {len(self.candidates):,} candidates"
        )

    def _known(self, names: Iterable[str], *, parts: bool = False) -> tuple[str, ...]:
        check_names("layer", names, (*self.layer_names, *(self.part_names if parts else ())))
        return tuple(names)

    @staticmethod
    def _select(state: Tensor, at: Tensor | None) -> Tensor:
        return state if at is None else state.index_select(1, at)
