"""The values of whole pages that stand by themselves."""
