"""Recipes that go beyond the papers."""
