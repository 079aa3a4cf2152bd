"""Pictures of pages as inline SVG: pure functions from data to text. No scripts; links and words instead."""
