"""Parts of a run object that stand alone."""
