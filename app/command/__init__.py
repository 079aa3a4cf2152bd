"""The commands of `samehere`, one module each."""
