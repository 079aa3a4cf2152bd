"""Reads what happens, and what should happen, from sentences that other rules leave unread."""
