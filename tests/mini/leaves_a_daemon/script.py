"""Ends well, and leaves a process in a session of its own behind."""
import os
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(100000)
    os._exit(0)
print("answer 42")
