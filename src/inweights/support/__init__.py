"""Tools that every package may use and that know nothing of worlds, models or experiments."""
