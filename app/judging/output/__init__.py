"""Values, messages and durations in printed output."""
