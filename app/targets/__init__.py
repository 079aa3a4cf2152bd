"""Targets: devices, toolchains and settings, and the fleet of nodes that serves them. No I/O."""
