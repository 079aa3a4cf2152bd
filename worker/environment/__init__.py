"""The trusted probe that records an environment, and the cache of its results on the node."""

from worker.environment.capture import EnvironmentRecorder

__all__ = ["EnvironmentRecorder"]
