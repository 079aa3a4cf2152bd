"""Evidence that a report shows: outputs, failures and comments, and the readings that they allow."""
