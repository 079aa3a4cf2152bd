"""This machine: settings, hardware, locks, broker, lending hours."""
