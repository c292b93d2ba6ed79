"""Losses of a step: cross-entropy (``loss.py``) and users' own losses (``user_loss.py``)."""
