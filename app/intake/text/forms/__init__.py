"""Forms in which sites other than GitHub show code."""
