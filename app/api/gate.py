"""The gate over REST: whether issues may be closed."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from app.api.bodies import Body, Words
from app.http.access import CanRead
from app.http.checked_route import CheckedRoute
from app.http.problems import BODY, problem_responses
from app.http.state import SessionDep, SettingsDep
from app.runs.lookup.gate import MOST_CHARACTERS, GateItem, gate

router = APIRouter(tags=["reports"], route_class=CheckedRoute)


class GateBody(Body):
    """The issues to ask about."""

    issues: list[Annotated[Words, Field(min_length=1, max_length=MOST_CHARACTERS)]] = Field(
        min_length=1,
        description="each is an address, `OWNER/REPOSITORY#NUMBER` of GitHub, or the id of a report here",
        examples=[["https://github.com/pytorch/pytorch/issues/1", "pytorch/pytorch#2"]],
    )


class GateAnswers(BaseModel):
    """The answers, in the order of the issues."""

    items: list[GateItem]


@router.post("/gate", operation_id="ask_gate", responses=problem_responses(401, *BODY))
def post_gate(body: GateBody, session: SessionDep, settings: SettingsDep, _may: CanRead) -> GateAnswers:
    """Ask whether issues may be closed: each still happens, is fixed, is not shown here, or is unknown.

    Nothing is run. The answers rest on stored runs and say when they ended.
    """
    return GateAnswers(items=gate(session, body.issues, most=settings.gate_issues))
