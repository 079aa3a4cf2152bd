"""Statements about what goes out of the service and comes in: webhooks, and events from GitHub."""
