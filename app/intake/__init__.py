"""Text in, scripts, claim, environment and needs out. No I/O."""
