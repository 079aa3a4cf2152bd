"""The commands with their options and help texts, grouped by task.

The module of a command is imported when the command runs, so that help is fast.
"""
