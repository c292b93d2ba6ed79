"""Optimizers of all replicas: the built-in ones (``fused.py``) and those of users (``own.py``)."""
