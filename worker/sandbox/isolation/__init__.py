"""The ways to shut a process in: namespaces, Landlock, seccomp, and what they need."""
