"""`python -m app.serve`: the same as `samehere serve`, without the rest of the command line."""

from __future__ import annotations

import argparse
import sys

from app.errors import SamehereError, start_status
from app.serve.demo import demo_settings
from app.serve.supervisor import serve
from app.settings import read_settings


def main(arguments: list[str] | None = None) -> int:
    """Run the service until a signal stops it. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="samehere serve")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--no-node", action="store_true")
    parser.add_argument("--demo", action="store_true")
    chosen = parser.parse_args(arguments)
    try:
        settings = read_settings(host=chosen.host, port=chosen.port)
        return serve(demo_settings(settings) if chosen.demo else settings, with_node=not chosen.no_node)
    except SamehereError as error:
        sys.stderr.write(f"samehere serve: {error.message}\n")
        return start_status(error)


if __name__ == "__main__":
    sys.exit(main())
