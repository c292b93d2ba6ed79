"""Optimizers of all replicas: built-in optimizers (``fused.py``) and users' own (``own.py``)."""
