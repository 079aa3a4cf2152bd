"""Prints the traceback that is claimed, and ends well."""
import sys

sys.stderr.write(
    "Traceback (most recent call last):\n"
    '  File "/home/u/script.py", line 3, in <module>\n'
    "RuntimeError: expected 3 channels, got 4\n"
)
