"""Interventions on a trained model: hidden states replaced, and stored facts edited.

``patching`` and ``interchange`` put a state of another prompt in place of a model's
own; ``realignment`` replaces the state of a bridge; ``editing`` gives stored facts
other answers. Probes that only read are in the package above.
"""
