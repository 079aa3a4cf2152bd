"""Targets in order of versions: series, bisection, reruns, confounding."""
