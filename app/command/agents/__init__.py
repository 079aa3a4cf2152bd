"""Commands for programs that act on issues, such as the gate."""
