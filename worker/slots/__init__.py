"""The slots of a node process, and the cards that their attempts hold."""
