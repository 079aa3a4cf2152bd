"""Pages other than those of reports and runs as Markdown, to paste into an issue."""
