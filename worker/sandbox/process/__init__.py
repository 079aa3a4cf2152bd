"""The sandboxed process: start, supervise, read its streams and stacks."""
