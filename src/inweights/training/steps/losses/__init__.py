"""The loss of a step: cross-entropy (``loss.py``), and losses of users (``user_loss.py``)."""
