"""Why outputs differ: the causes and their sentences."""
