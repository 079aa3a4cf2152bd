"""One attempt, from its message to its result."""
