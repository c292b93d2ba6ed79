"""From a plan to tables: which runs are missing, what trains together, and who does it."""
