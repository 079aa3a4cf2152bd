"""The node as a Celery worker and as a stream of JSON lines."""
