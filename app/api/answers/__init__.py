"""Answers with a run: with links, in brief, and after a wait."""
