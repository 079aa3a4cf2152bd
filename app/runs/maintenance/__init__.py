"""The acts of maintainers: overrule, triage, quarantine, withdraw, rejudge, tokens."""
