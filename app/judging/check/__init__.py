"""One check of a claim judged in one attempt."""
