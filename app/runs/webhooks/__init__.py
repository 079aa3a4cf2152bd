"""Webhooks: news that the service sends to an address of a submitter."""
