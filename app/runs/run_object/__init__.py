"""The run object and what goes into it, without I/O."""
