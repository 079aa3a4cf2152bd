"""What a node runs: attempts in sandboxes. Never imports `app`; installable without a web framework or a database driver."""
