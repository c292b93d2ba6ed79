"""Optimizers of all replicas: built-in (``fused.py``) and users' own (``own.py``)."""
