"""Measures and limits the memory and processes of a job."""
