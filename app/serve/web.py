"""The web process: uvicorn on a socket that the supervisor keeps open, so that a restart refuses nobody."""

from __future__ import annotations

import socket
import sys

import uvicorn

# Streams of events stay open for ever: they are cut when the web ends.
GRACE_SECONDS = 3


def main(fd: int) -> None:
    """Serve the application on an inherited listening socket."""
    configuration = uvicorn.Config(
        "app.main:create_app",
        factory=True,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    uvicorn.Server(configuration).run(sockets=[socket.socket(fileno=fd)])


if __name__ == "__main__":
    main(int(sys.argv[1]))
