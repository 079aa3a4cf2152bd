"""Code blocks and sessions turned into scripts with roles and repairs."""
