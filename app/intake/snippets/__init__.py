"""Turns code blocks and sessions into scripts with roles and repairs."""
