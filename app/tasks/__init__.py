"""Celery on the trusted side."""
