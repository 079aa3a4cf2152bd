"""A report over time: its current verdict, changes between versions, what needs attention."""
