"""Recipes of *Generalization or Hallucination? Out-of-Context Reasoning* (arXiv 2506.10887)."""
