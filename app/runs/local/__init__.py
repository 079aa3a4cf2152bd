"""Runs and bisections on this machine, without a service."""
