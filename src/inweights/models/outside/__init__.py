"""Modules of others as models: stacked parameters, one call for all replicas."""
