"""Program (2) for the two-hop world: its closed form, and its reduction by symmetry."""
