"""What moves a run on: dispatch, record, settle, lose, cancel, compare, judge the report."""
