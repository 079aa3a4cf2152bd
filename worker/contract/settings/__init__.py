"""The names of settings."""
