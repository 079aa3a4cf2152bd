"""`samehere explain`."""
