"""What one writes: trials, measures, scores, claims, figures, recipes. Nothing here runs."""
