"""The causes of differences, and their sentences."""
