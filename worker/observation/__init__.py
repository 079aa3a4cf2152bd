"""What the harness and the sandbox report, turned into an observation."""
