"""How a run begins: submit, launch, relaunch, rerun, bisect."""
