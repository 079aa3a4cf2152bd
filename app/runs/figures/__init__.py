"""Figures: how much the cards of the nodes did in the last hour and day."""
