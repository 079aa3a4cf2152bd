"""What maintainers do: overrule, triage, quarantine, withdraw, rejudge, tokens."""
