"""Decisions of a script that rounding makes: programs for the sandbox, which the node only copies."""
