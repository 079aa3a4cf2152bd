"""The addresses of the pages."""

from __future__ import annotations

from app.web.routes import (
    attempts,
    bisections,
    cells,
    changes,
    comparisons,
    dossiers,
    home,
    maintain,
    matrices,
    nodes,
    reports,
    runs,
    sign_in,
    submit,
)

PAGE_ROUTERS = tuple(
    module.router
    for module in (
        home,
        runs,
        cells,
        attempts,
        comparisons,
        reports,
        dossiers,
        nodes,
        changes,
        maintain,
        matrices,
        bisections,
        sign_in,
        submit,
    )
)
