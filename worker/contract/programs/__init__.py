"""Programs that the service hands out: repeat.py and probe.py."""
