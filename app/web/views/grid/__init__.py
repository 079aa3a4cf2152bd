"""The matrix of a report: rows are targets, columns are versions, and equal results are merged."""
