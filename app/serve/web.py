"""The web process: uvicorn on a socket of the supervisor, or on its own address.

The supervisor keeps its socket open, so no connection is refused while the web restarts.
"""

from __future__ import annotations

import argparse
import gc
import socket
import sys

import uvicorn
from fastapi import FastAPI

from app.errors import SetupError, UnavailableError
from app.runs.github.setup import check_setup
from app.runs.rows.presets import known_presets
from app.runs.webhooks.sealing import check_key_file
from app.serve.exposure import require_token
from app.settings import ServiceSettings, read_settings
from app.storage.broker_basics import require_password
from worker.contract.log import log_to_stderr
from worker.contract.own_process import leave_current_folder

# Event streams never end by themselves. They are closed so many seconds after the web begins to stop.
GRACE_SECONDS = 3


def main(arguments: list[str] | None = None) -> int:
    """Serve the application until a signal stops it. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m app.serve.web")
    parser.add_argument(
        "--fd", type=int, help="an inherited socket that listens; default: SAMEHERE_HOST and SAMEHERE_PORT"
    )
    fd = parser.parse_args(arguments).fd
    try:
        settings = read_settings()
        log_to_stderr("web", settings)
        # Checked here, too: the web may run as another user than the supervisor.
        known_presets(settings)
        check_setup(settings)
        check_key_file(settings)
        # With an inherited socket the supervisor has checked these two.
        if fd is None:
            require_password(settings)
            require_token(settings, settings.reveal_database_url() or "")
    except SetupError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2
    except UnavailableError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    configuration = uvicorn.Config(
        _application(settings),
        host=settings.host,
        port=settings.port,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        # It limits the size of headers; the faster parser that uvicorn would take if it were there does not.
        http="h11",
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    uvicorn.Server(configuration).run(sockets=[socket.socket(fileno=fd)] if fd is not None else None)
    return 0


def _application(settings: ServiceSettings) -> FastAPI:
    """The application with its templates loaded, and frozen for the garbage collector.

    Without that, each collection stopped all requests for 60 ms.
    """
    from app.main import create_app
    from app.web.pages import environment

    application = create_app(settings)
    for name in environment().list_templates():
        environment().get_template(name)
    gc.collect()
    gc.freeze()
    return application


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
