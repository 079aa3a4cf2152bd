"""REST doors to the outside."""
