"""Interventions on hidden states: what becomes of the answer. Probes that only read stand above."""
