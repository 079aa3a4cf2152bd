"""Reports of the harness and the sandbox, turned into an observation."""
