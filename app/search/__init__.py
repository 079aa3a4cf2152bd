"""The search language: its fields, and the parser from text to terms."""
