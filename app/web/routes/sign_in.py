"""Signing in with a token, and signing out. Only this page has a field for a token."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Cookie, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from app.errors import UnauthorisedError
from app.http.access import SIGN_IN_COOKIE, ViewerDep, is_encrypted
from app.http.checked_route import CheckedRoute
from app.http.problems import status_of
from app.http.state import SessionDep, SettingsDep
from app.runs.maintenance import sign_in
from app.web.pages import page

router = APIRouter(include_in_schema=False, route_class=CheckedRoute)
NEXT_CHARACTERS = 500


def _ours(path: str) -> str:
    r"""A path on this site; the home page for anything else, such as `//elsewhere` or `/\elsewhere`."""
    is_ours = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable()
    return path if is_ours else "/"


@router.get("/sign-in")
def get_sign_in(
    viewer: ViewerDep, after: Annotated[str, Query(alias="next", max_length=NEXT_CHARACTERS)] = ""
) -> Response:
    """The page for signing in. A browser that is signed in already goes on to the next page.

    A link on another site opens our pages without the cookie; a link to this page brings it back.
    """
    if viewer.name is not None and after:
        return RedirectResponse(_ours(after), status_code=303)
    return page("sign_in.html", viewer=viewer, after=_ours(after), problem=None)


@router.post("/sign-in")
def post_sign_in(
    *,
    request: Request,
    session: SessionDep,
    settings: SettingsDep,
    viewer: ViewerDep,
    token: Annotated[str, Form(max_length=200)] = "",
    after: Annotated[str, Form(alias="next", max_length=NEXT_CHARACTERS)] = "",
) -> Response:
    """Sign in: the token becomes a cookie that no script can read and no other site can send."""
    try:
        new = sign_in.sign_in(session, token.strip(), hours=settings.sign_in_hours)
    except UnauthorisedError as error:
        return page("sign_in.html", status=status_of(error), viewer=viewer, after=_ours(after), problem=error)
    response = RedirectResponse(_ours(after), status_code=303)
    response.set_cookie(
        SIGN_IN_COOKIE,
        new.secret,
        max_age=round(settings.sign_in_hours * 3600),
        path="/",
        httponly=True,
        samesite="strict",
        secure=is_encrypted(request),
    )
    return response


@router.post("/sign-out")
def post_sign_out(
    session: SessionDep,
    secret: Annotated[str | None, Cookie(alias=SIGN_IN_COOKIE, max_length=100)] = None,
    after: Annotated[str, Form(alias="next", max_length=NEXT_CHARACTERS)] = "",
) -> Response:
    """Sign out. The cookie is deleted, and worth nothing from now on."""
    if secret:
        sign_in.sign_out(session, secret)
    response = RedirectResponse(_ours(after), status_code=303)
    response.delete_cookie(SIGN_IN_COOKIE, path="/", httponly=True, samesite="strict")
    return response
