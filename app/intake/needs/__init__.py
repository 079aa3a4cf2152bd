"""What a script cannot run without, and what to ask the reporter for."""
