"""The GitHub App: obeys labels and comments, and posts one comment or one check."""
