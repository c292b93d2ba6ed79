"""Interventions on a trained model: replace hidden states, and edit stored facts.

``patching`` and ``interchange`` replace a model's state with the state of another
prompt; ``realignment`` replaces the state of a bridge; ``steering`` adds or removes
directions; ``editing`` changes the answers to stored facts. Probes that do not
intervene are in :mod:`inweights.probes`.
"""
