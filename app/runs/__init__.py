"""Use cases over runs and reports, by phase of a run's life."""
