"""Markdown, threads, titles and the environment that a report states."""
