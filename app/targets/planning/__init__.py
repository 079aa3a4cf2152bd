"""From a preset and patterns to the planned cells."""
