"""Program (2) for the two-hop world: its closed form, and what is left of it by symmetry."""
