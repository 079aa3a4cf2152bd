"""The OpenAPI document: what each field, parameter, operation and event means."""
