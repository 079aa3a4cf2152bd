"""Claims as data: their form, and how they become checks and come back."""
