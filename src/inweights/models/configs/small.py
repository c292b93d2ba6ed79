"""Configs of the architectures of one or two layers, and of deep linear networks.

:class:`EmbMLPConfig`, :class:`TinyNNConfig`, :class:`Node2VecConfig`,
:class:`DeepLinearConfig` and :class:`OneLayerConfig` are small models of the papers for
which there is theory. Nothing here imports torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Unpack

from inweights.config import Config, check_size
from inweights.models.building import build_model
from inweights.models.configs.initial_scale import MAX_SCALE, Init, check_std
from inweights.models.configs.model_config import Start

if TYPE_CHECKING:
    from inweights.models.deep_linear import DeepLinear
    from inweights.models.emb_mlp import EmbMLP
    from inweights.models.node2vec import Node2Vec
    from inweights.models.one_layer import OneLayer
    from inweights.models.tiny_nn import TinyNN


class EmbMLPConfig(Config, tag_field="kind", tag="emb-mlp"):
    """Settings of an :class:`EmbMLP` (Identity Bridge, Definition 1).

    Attributes:
        width: Width ``D`` of the embeddings. The theory of minimum-norm solutions
            applies if the width is at least the rank of the solution.
        init: Initial scale of both matrices.

    Raises:
        ConfigError: A value has the wrong type, or the width is below 1 or above
            65,536.
    """

    width: int = 64
    init: Init = Init(std=0.01)

    def __post_init__(self) -> None:
        check_size("emb-mlp.width", self.width)

    def build(self, **start: Unpack[Start]) -> EmbMLP:
        """Build an :class:`EmbMLP` with one replica per seed and logits for ``candidates``.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates`` (ids
                of the tokens that get logits, by default all; ``V_out`` in the paper).

        Raises:
            ConfigError: There are no seeds, or a seed is not an integer from 0 to
                ``2**63 - 1``; the numbers of initial scales and of seeds differ;
                ``vocabulary`` is below 1; or a candidate is not a token or occurs
                twice.
        """
        model: EmbMLP = build_model("emb-mlp", self, **start)
        return model


class TinyNNConfig(Config, tag_field="kind", tag="tiny-nn"):
    """Settings of a :class:`TinyNN` (Geometric Memory B.2.2, B.5).

    Attributes:
        width: Width ``D``. The paper uses 32 for the star and the grid, 16 for the
            irregular graph, and 512 for the cycle and for experiments in which the
            width must not limit storage.
        frozen: Whether the embeddings keep their initial values, so that only ``W`` and
            ``b`` are trained (associative storage).
        embedding_std: Initial standard deviation of the embeddings, such as 1, which is
            PyTorch's default (Fig. 28). If ``None``, the embeddings are drawn as
            :attr:`init` specifies.
        dropout: Probability with which an entry of the middle layer is set to 0 during
            training (Fig. 31).
        init: Initial scale of every weight matrix; ``b`` starts at 0.

    Raises:
        ConfigError: A value has the wrong type, the width is below 1 or above 65,536,
            ``embedding_std`` is not above 0, or ``dropout`` is not at least 0 and below
            1.
    """

    later = {"dropout": 0.0}

    width: int = 32
    frozen: bool = False
    embedding_std: float | None = None
    dropout: float = 0.0
    init: Init = Init()

    def __post_init__(self) -> None:
        check_size("tiny-nn.width", self.width)
        check_std("tiny-nn.embedding_std", self.embedding_std)
        check_size("tiny-nn.dropout", self.dropout, least=0, below=1)

    def build(self, **start: Unpack[Start]) -> TinyNN:
        """Build a :class:`TinyNN` with one replica per seed and logits for all tokens.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates``
                (ignored).

        Raises:
            ConfigError: There are no seeds, or a seed is not an integer from 0 to
                ``2**63 - 1``; the numbers of initial scales and of seeds differ; or
                ``vocabulary`` is below 1.
        """
        model: TinyNN = build_model("tiny-nn", self, **start)
        return model


class Node2VecConfig(Config, tag_field="kind", tag="node2vec"):
    """Settings of a :class:`Node2Vec` (Geometric Memory §4).

    Attributes:
        width: Width ``D``. The paper uses 100, which is more than the number of nodes
            of any of its tiny graphs.
        tied: Whether a node has the same vector as input and as output. Untied models
            oscillate along eigenvectors with negative eigenvalues (§4.4, Fig. 9).
        init: Initial scale of the vectors; by default 1 (standard normal), as in the
            paper.

    Raises:
        ConfigError: A value has the wrong type, or the width is below 1 or above
            65,536.
    """

    width: int = 100
    tied: bool = True
    init: Init = Init(std=1.0)

    def __post_init__(self) -> None:
        check_size("node2vec.width", self.width)

    def build(self, **start: Unpack[Start]) -> Node2Vec:
        """Build a :class:`Node2Vec` with one replica per seed and logits for all tokens.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates``
                (ignored).

        Raises:
            ConfigError: There are no seeds, or a seed is not an integer from 0 to
                ``2**63 - 1``; the numbers of initial scales and of seeds differ; or
                ``vocabulary`` is below 1.
        """
        model: Node2Vec = build_model("node2vec", self, **start)
        return model


class DeepLinearConfig(Config, tag_field="kind", tag="deep-linear"):
    """Settings of a :class:`DeepLinear` (Feature Resemblance §7).

    Attributes:
        width: Width ``D``. It must be at least the number of tokens, since the input
            vectors of the tokens are orthonormal.
        layers: Number ``L`` of square layers, at least 1, not counting the readout.
        readout: Whether the logits are computed by a separate trained matrix ``A`` (the
            parameter ``readout.weight``). Otherwise, the first ``K`` coordinates of the
            last layer are the logits of the ``K`` labels.
        init: Initial scale of every matrix; by default entries are drawn from ``N(0,
            1/D)``.

    Raises:
        ConfigError: A value has the wrong type, or a size is below 1 or above 65,536.
    """

    width: int = 1024
    layers: int = 8
    readout: bool = True
    init: Init = Init(gamma=0.5)

    def __post_init__(self) -> None:
        check_size("deep-linear.width", self.width)
        check_size("deep-linear.layers", self.layers)

    def build(self, **start: Unpack[Start]) -> DeepLinear:
        """Build a :class:`DeepLinear` with one replica per seed and logits for ``candidates``.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates`` (ids
                of the ``K`` labels, by default all tokens).

        Raises:
            ConfigError: The width is smaller than the number of tokens; there are no
                seeds, or a seed is not an integer from 0 to ``2**63 - 1``; the numbers
                of initial scales and of seeds differ; ``vocabulary`` is below 1; or a
                candidate is not a token or occurs twice.
        """
        model: DeepLinear = build_model("deep-linear", self, **start)
        return model


class OneLayerConfig(Config, tag_field="kind", tag="one-layer"):
    """Settings of a :class:`OneLayer`; the defaults are as in Feature Resemblance N.1.

    Attributes:
        width: Width ``D`` of embeddings and values.
        hidden: Width ``m`` of the MLP: the number of vectors ``w_{k,r}`` for each label
            ``k``.
        kappa: ``κ0``, the fixed scale of the logits.
        mlp: ``linear`` computes equation 3, and ``relu`` computes the ReLU variant of
            appendix A. ``folded`` is the linear MLP in which the ``m`` vectors of each
            label are replaced by the single direction that affects the logits, ``u =
            Σ_r w_r / √m``, so that ``F_k = (κ0 / √m) ⟨u_k, h⟩``. Under gradient descent
            with the same learning rate, momentum and weight decay, it is exactly
            equivalent to the linear model, because the other directions have no effect.
            Its MLP has ``1/m`` as many weights. Under Adam, the two models differ.
        embedding: ``orthonormal`` represents token ``i`` by the ``i``-th unit vector.
            This loses no generality, since the distribution of the initial matrices is
            the same in every basis. ``gaussian`` uses fixed vectors drawn from ``N(0,
            1/D)``, which are nearly orthonormal and allow more than ``D`` tokens.
        init: Initial scale ``σ0`` of ``W_KQ``, ``W_V`` and ``w``.

    Raises:
        ConfigError: A value has the wrong type, ``width`` or ``hidden`` is below 1 or
            above 65,536, or ``kappa`` is not above 0 or not finite.
    """

    width: int = 512
    hidden: int = 10
    kappa: float = 300.0
    mlp: Literal["linear", "relu", "folded"] = "linear"
    embedding: Literal["orthonormal", "gaussian"] = "orthonormal"
    init: Init = Init(std=1e-3)

    def __post_init__(self) -> None:
        check_size("one-layer.width", self.width)
        check_size("one-layer.hidden", self.hidden)
        check_size("one-layer.kappa", self.kappa, above=0, most=MAX_SCALE)

    def build(self, **start: Unpack[Start]) -> OneLayer:
        """Build a :class:`OneLayer` with one replica per seed and logits for ``candidates``.

        Args:
            **start: Arguments of :meth:`ModelConfig.build`: ``vocabulary`` (number of
                tokens), ``seeds`` (root seeds, or their number), ``inits`` (initial
                scale of each replica; by default :attr:`init`) and ``candidates`` (ids
                of the ``K`` labels, by default all tokens).

        Raises:
            ConfigError: The embeddings are orthonormal and the width is smaller than
                the number of tokens; there are no seeds, or a seed is not an integer
                from 0 to ``2**63 - 1``; the numbers of initial scales and of seeds
                differ; ``vocabulary`` is below 1; or a candidate is not a token or
                occurs twice.
        """
        # Embeddings have an expected squared norm of 1, whatever the initial scale of
        # the trained parameters.
        model: OneLayer = build_model(
            "one-layer", self, embedding_std=self.width**-0.5, **start
        )
        return model
