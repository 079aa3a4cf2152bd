"""Checks, jobs and runs judged; how sure a verdict is."""
