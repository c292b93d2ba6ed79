"""The loss of a step: cross-entropy (``loss.py``), users' losses (``user_loss.py``)."""
