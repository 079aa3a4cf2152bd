"""The parts of `probe.py`, the program that a reporter runs on their own machine."""
