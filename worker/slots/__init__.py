"""A node's places for attempts, and the cards they hold."""
