"""Interventions on a trained model: hidden states are replaced, and stored facts edited.

``patching`` and ``interchange`` replace a model's state with the state of another
prompt; ``realignment`` replaces the state of a bridge; ``steering`` adds or removes
directions; ``editing`` gives stored facts other answers. Probes that only read are in
:mod:`inweights.probes`.
"""
