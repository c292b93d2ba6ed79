"""Whole pages and what is saved of them."""
