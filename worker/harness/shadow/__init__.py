"""The float64 shadow of a script's tensors: programs for the sandbox, which the node only copies."""
