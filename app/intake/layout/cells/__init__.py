"""Layouts in which statements and what came of each stand in pairs."""
