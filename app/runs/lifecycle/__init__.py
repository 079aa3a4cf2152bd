"""The steps in the life of a run: dispatch, record, settle, finish, cancel, and reopen."""
