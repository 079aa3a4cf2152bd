"""Streams of events: announcements of the broker, and the events that all listeners share."""
