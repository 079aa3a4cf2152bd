"""Facts about Python source, read from its syntax."""
