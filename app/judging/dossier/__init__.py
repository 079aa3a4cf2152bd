"""The dossier: which numbers are in question, which side is right, where a distance begins, and the cause."""
