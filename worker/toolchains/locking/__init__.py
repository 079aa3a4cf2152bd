"""Requirements resolved into a lock file."""
