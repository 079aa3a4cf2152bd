"""The NVIDIA cards of the node: their list, their state, and the check that they compute correctly."""
