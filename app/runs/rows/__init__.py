"""Database rows read into values, and values written to rows."""
