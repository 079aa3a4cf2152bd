"""The verdicts of jobs and runs, and how many attempts they need."""
