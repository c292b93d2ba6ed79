"""What was learnt: functions of a trained model and its worlds that return tidy tables."""

from inweights.probes.alignment import alignment, bridge_pairs
from inweights.probes.film import render_frames, snapshot
from inweights.probes.geometry.arrangement import agreement, arrange, arrangement
from inweights.probes.geometry.cosines import cosines, graph_recall
from inweights.probes.geometry.edge_margins import edge_margin, geometric_margin
from inweights.probes.geometry.embedding import Embedding
from inweights.probes.geometry.embedding_files import read_embedding
from inweights.probes.geometry.hops import hop_correlation
from inweights.probes.geometry.known_geometry import known_geometries, skew
from inweights.probes.geometry.named import named_geometry
from inweights.probes.geometry.spectrum import spectral_energy, zigzag
from inweights.probes.inside import attention, cka, logit_lens
from inweights.probes.interventions.editing import edits
from inweights.probes.interventions.interchange import carries
from inweights.probes.interventions.patching import activation_patching, patch
from inweights.probes.interventions.realignment import realignment
from inweights.probes.margins import margins
from inweights.probes.memory import shared_memory
from inweights.probes.navigation import navigation, stepwise
from inweights.probes.optimum import direction, nuclear_norm
from inweights.probes.paths import arm_cosines, path_accuracy
from inweights.probes.projections import align_frames, bridge_projection, project
from inweights.probes.recall import accuracy, by_loops
from inweights.probes.resemblance import entity_pairs, resemblance
from inweights.probes.templates import templates, winners

__all__ = [
    "Embedding",
    "accuracy",
    "activation_patching",
    "agreement",
    "align_frames",
    "alignment",
    "arm_cosines",
    "arrange",
    "arrangement",
    "attention",
    "bridge_pairs",
    "bridge_projection",
    "by_loops",
    "carries",
    "cka",
    "cosines",
    "direction",
    "edge_margin",
    "edits",
    "entity_pairs",
    "geometric_margin",
    "graph_recall",
    "hop_correlation",
    "known_geometries",
    "logit_lens",
    "margins",
    "named_geometry",
    "navigation",
    "nuclear_norm",
    "patch",
    "path_accuracy",
    "project",
    "read_embedding",
    "realignment",
    "render_frames",
    "resemblance",
    "shared_memory",
    "skew",
    "snapshot",
    "spectral_energy",
    "stepwise",
    "templates",
    "winners",
    "zigzag",
]
