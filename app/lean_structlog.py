"""Imports structlog without rich. Import this module before structlog, in processes that draw no tracebacks.

structlog imports rich if it can, and rich attrs: 4 MiB in each process, for coloured tracebacks that none of
them shows.
"""

from __future__ import annotations

import sys
from typing import Any


def _import_structlog() -> None:
    modules: dict[str, Any] = sys.modules
    if "structlog" in modules or "rich" in modules:
        return
    # Python answers an import of this name with ImportError.
    modules["rich"] = None
    try:
        import structlog.dev  # noqa: F401  # for the import itself
    finally:
        del modules["rich"]


_import_structlog()
