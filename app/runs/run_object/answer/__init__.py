"""The verdict in four short sentences, always in the same order."""
