"""The words that reports use: verbs, literals, devices, packages and systems."""
