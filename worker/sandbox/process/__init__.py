"""Starts and supervises a process in the sandbox, and reads its streams and stacks."""
