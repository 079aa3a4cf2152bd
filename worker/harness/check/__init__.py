"""Holds single operations of torch against float64: programs for the sandbox, which the node only copies."""
