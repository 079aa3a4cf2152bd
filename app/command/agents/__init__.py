"""Commands for programs that act on issues: the gate, and the tools for models."""
