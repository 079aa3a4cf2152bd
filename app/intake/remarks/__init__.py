"""Reads remarks of the reporter: on outputs, on messages, and on the values of two versions."""
