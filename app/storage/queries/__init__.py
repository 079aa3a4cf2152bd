"""SQL statements, one module per subject."""
