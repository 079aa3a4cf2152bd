"""Run objects turned into what templates and Markdown show."""
