"""The search language: text into terms."""
