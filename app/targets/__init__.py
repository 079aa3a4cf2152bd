"""Targets: devices, toolchains, settings, and the fleet that serves them. No I/O."""
