"""The start of a run: submit, launch, relaunch, rerun, bisect."""
