"""Two attempts compared, value by value."""
