"""Oracles: what an attempt shows that says that a claimed bug is gone."""
