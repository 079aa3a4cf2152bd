"""The needs of a script, and the questions to its reporter."""
