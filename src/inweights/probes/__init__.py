"""Probes: functions of a trained model and its worlds that return tidy tables.

Each probe takes a model of ``R`` replicas and one world, or one world per replica, and
returns a polars table with a column ``replica``. A plan can use probes as measures,
during or after training; they can also be called directly on any model.
"""

from inweights.probes.activations import activations as activations
from inweights.probes.activations import write_activations as write_activations
from inweights.probes.alignment import alignment as alignment
from inweights.probes.alignment import bridge_pairs as bridge_pairs
from inweights.probes.geometry.arrangement import agreement as agreement
from inweights.probes.geometry.arrangement import arrange as arrange
from inweights.probes.geometry.arrangement import arrangement as arrangement
from inweights.probes.geometry.cosines import cosines as cosines
from inweights.probes.geometry.cosines import graph_recall as graph_recall
from inweights.probes.geometry.edge_margins import edge_margin as edge_margin
from inweights.probes.geometry.edge_margins import geometric_margin as geometric_margin
from inweights.probes.geometry.embedding import Embedding as Embedding
from inweights.probes.geometry.embedding_files import read_embedding as read_embedding
from inweights.probes.geometry.hops import hop_correlation as hop_correlation
from inweights.probes.geometry.known_geometry import (
    known_geometries as known_geometries,
)
from inweights.probes.geometry.known_geometry import skew as skew
from inweights.probes.geometry.named import named_geometry as named_geometry
from inweights.probes.geometry.spectrum import spectral_energy as spectral_energy
from inweights.probes.geometry.spectrum import zigzag as zigzag
from inweights.probes.inside import attention as attention
from inweights.probes.inside import cka as cka
from inweights.probes.inside import logit_lens as logit_lens
from inweights.probes.interventions.attribution import (
    attribution_patching as attribution_patching,
)
from inweights.probes.interventions.attribution import (
    logit_attribution as logit_attribution,
)
from inweights.probes.interventions.editing import after_edits as after_edits
from inweights.probes.interventions.editing import edits as edits
from inweights.probes.interventions.interchange import carries as carries
from inweights.probes.interventions.patching import (
    activation_patching as activation_patching,
)
from inweights.probes.interventions.patching import patch as patch
from inweights.probes.interventions.realignment import realignment as realignment
from inweights.probes.interventions.steering import steer as steer
from inweights.probes.interventions.steering import steered as steered
from inweights.probes.margins import margins as margins
from inweights.probes.memory import shared_memory as shared_memory
from inweights.probes.optimum import direction as direction
from inweights.probes.optimum import nuclear_norm as nuclear_norm
from inweights.probes.paths.navigation import navigation as navigation
from inweights.probes.paths.navigation import stepwise as stepwise
from inweights.probes.paths.path_accuracy import arm_cosines as arm_cosines
from inweights.probes.paths.path_accuracy import path_accuracy as path_accuracy
from inweights.probes.pictures.film import render_frames as render_frames
from inweights.probes.pictures.film import snapshot as snapshot
from inweights.probes.pictures.projections import align_frames as align_frames
from inweights.probes.pictures.projections import bridge_projection as bridge_projection
from inweights.probes.pictures.projections import project as project
from inweights.probes.recall import accuracy as accuracy
from inweights.probes.recall import by_loops as by_loops
from inweights.probes.resemblance import entity_pairs as entity_pairs
from inweights.probes.resemblance import resemblance as resemblance
from inweights.probes.templates import templates as templates
from inweights.probes.templates import winners as winners
from inweights.support.border import guard_names

#: The public names are those imported above, so that each name is written only once.
__all__ = [
    name
    for name, thing in list(vars().items())
    if callable(thing) and thing is not guard_names
]
guard_names(__name__, __all__)
