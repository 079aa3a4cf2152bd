"""Kills its own process group: this is its doing, and no limit of ours."""
import os
import signal

print("before", flush=True)
os.killpg(os.getpgid(0), signal.SIGKILL)
