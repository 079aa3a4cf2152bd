"""Memory, processes and cgroups, and their limits."""
