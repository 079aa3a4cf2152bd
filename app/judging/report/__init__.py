"""A report over all of its runs: its current verdict, changes between versions, and needed attention."""
