"""Parts that the harness loads when it needs them: notes of warnings, and fixed sources of variation."""
