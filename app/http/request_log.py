"""One line in the log for each request, an id that all lines of a request share, and its time.

A path may hold a secret, such as that of a withdrawal. So only the template of the route is ever written.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Sequence

import structlog
from fastapi import Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.http.meters import Meters, current_meters

log = structlog.get_logger(__name__)

REQUEST_ID = "X-Request-ID"
# The keys of the template and of the id in the ASGI scope.
TEMPLATE = "samehere.template"
ID = "samehere.request_id"
# True in the scope of a request that our own code sends while it answers another one. That one is counted.
WITHIN = "samehere.within"
NO_TEMPLATE = "none"
STATIC_TEMPLATE = "/static/{path}"
# Shown as the status of a request whose client left before the answer.
CLIENT_LEFT = 499
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


# The pattern of a route, its template and its methods.
Template = tuple[re.Pattern[str], str, frozenset[str]]


class Templates:
    """Finds the template of a path, such as `/runs/{run_id}`."""

    def __init__(self, routes: Sequence[Template]) -> None:
        self._routes = routes
        # The templates of paths without parameters, by path and method. The others are too many.
        self._plain: dict[tuple[str, str], str] = {}

    def find(self, path: str, method: str) -> str:
        """The template of the first route that matches; `none` for an unknown path."""
        if (path, method) in self._plain:
            return self._plain[path, method]
        if path.startswith("/static/"):
            return STATIC_TEMPLATE
        wanted_method = "GET" if method == "HEAD" else method
        matches = [(template, methods) for pattern, template, methods in self._routes if pattern.match(path)]
        for template, methods in matches:
            if wanted_method in methods:
                if template == path:
                    self._plain[path, method] = template
                return template
        return matches[0][0] if matches else NO_TEMPLATE


def template_of(request: Request) -> str:
    """The template of the route of a request."""
    return str(request.scope.get(TEMPLATE, NO_TEMPLATE))


class RequestLog:
    """ASGI middleware around all others. `X-Request-ID` of a proxy is taken over if it is a plain word."""

    def __init__(self, application: ASGIApp, *, templates: Templates, meters: Meters) -> None:
        self._application = application
        self._templates = templates
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        method, template = scope["method"], self._templates.find(scope["path"], scope["method"])
        proposal = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = proposal if _ID.fullmatch(proposal) else secrets.token_hex(8)
        inner = {**scope, TEMPLATE: template, ID: request_id}
        status = CLIENT_LEFT

        async def send_on(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID] = request_id
            await send(message)

        began = time.perf_counter()
        token = current_meters.set(self._meters)
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._application(inner, receive, send_on)
            except Exception:
                status = 500 if status == CLIENT_LEFT else status
                raise
            finally:
                current_meters.reset(token)
                seconds = time.perf_counter() - began
                fields = {"method": method, "route": template, "status": status}
                if scope.get(WITHIN):
                    log.debug("request_within", **fields, seconds=round(seconds, 4))
                else:
                    self._meters.note_request(**fields, seconds=seconds)
                    log.info("request", **fields, seconds=round(seconds, 4))
