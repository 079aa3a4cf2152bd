"""Comparisons of two attempts: output, captured values, endings and environments."""
