"""What was found: the trusted probe that records an environment, and its keeper on the node."""

from worker.environment.capture import EnvironmentRecorder

__all__ = ["EnvironmentRecorder"]
