"""The database and the broker."""
