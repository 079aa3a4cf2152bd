"""`samehere serve`: one process that starts, watches and ends everything the service consists of."""
