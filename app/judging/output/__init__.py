"""Values and messages found in printed output."""
