"""Optimizers of all replicas: the built-in ones (``fused.py``) and users' own ones (``own.py``)."""
