"""Targets in the order of versions: series, bisections, reruns and confounding."""
