"""Statements about reports: lists, search, attention, history."""
