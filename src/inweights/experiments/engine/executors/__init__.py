"""Run tasks in this process, in others or on a cluster, and decide which task is next."""
