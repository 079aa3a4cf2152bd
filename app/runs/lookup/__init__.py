"""Answers to what pages and REST ask for."""
