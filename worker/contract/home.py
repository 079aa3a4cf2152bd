"""The folder that holds all state, for the service and for a node."""

from __future__ import annotations

import os
from pathlib import Path


def default_home() -> Path:
    """`/var/lib/samehere` as root, else `samehere` in the user's data folder."""
    # The client also runs on Windows, which has no user ids.
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/samehere")
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "samehere"
