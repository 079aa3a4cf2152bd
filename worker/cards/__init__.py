"""The node's NVIDIA cards: which there are, what state they are in, and whether they compute rightly."""
