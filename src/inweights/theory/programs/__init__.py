"""Programs whose optimum training tends to, and solvers with a certified gap."""
