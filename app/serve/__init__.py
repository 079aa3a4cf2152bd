"""`samehere serve`: one process that starts, watches and ends all parts of the service."""
