"""The arguments of the tools. Each is checked before anything is sent to the service."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from app.intake.reading import NeedKind
from app.intake.typed.claim_form import ClaimForm
from app.targets.target import Target

MOST_TEXT = 1024 * 1024
MOST_WAIT_SECONDS = 30
CLAIM_RESOURCE = "samehere://claim"
Id = Annotated[str, Field(pattern=r"^[0-7][0-9a-hjkmnp-tv-z]{25}$", description="an id of 26 characters")]


class Arguments(BaseModel):
    """The arguments of one tool. An unknown one is an error."""

    model_config = ConfigDict(extra="forbid")


class TextArguments(Arguments):
    """A report or a script, with its claim."""

    report: str | None = Field(
        default=None,
        max_length=MOST_TEXT,
        description="the body of an issue in Markdown, or the JSON of a thread as `gh issue view --json"
        " title,body,author,comments,url` prints it; give either this or `script`",
    )
    script: str | None = Field(default=None, max_length=MOST_TEXT, description="a bare Python script")
    claim: ClaimForm | str | None = None
    title: str = Field(default="", max_length=500)
    ignore_needs: list[NeedKind] = Field(
        default_factory=list,
        max_length=len(NeedKind),
        description="kinds of needs that were read from the script wrongly, so that it is run anyway",
    )

    def body(self) -> dict[str, Any]:
        """The body of a request with these fields."""
        claim = self.claim
        data = {
            "report": self.report,
            "script": self.script,
            "claim": claim.model_dump(mode="json", exclude_unset=True)
            if isinstance(claim, ClaimForm)
            else claim,
            "title": self.title,
            "ignore_needs": [str(kind) for kind in self.ignore_needs],
        }
        return {name: value for name, value in data.items() if value not in (None, "", [])}


# The form of a claim is long, so a resource describes it.
ClaimArgument = Annotated[
    ClaimForm | str | None, WithJsonSchema({"type": ["object", "string", "null"], "default": None})
]


class ReadArguments(TextArguments):
    """A text to read."""

    claim: ClaimArgument = Field(
        default=None, description="the claim, as for `submit`, instead of the report's own"
    )


class SubmitArguments(TextArguments):
    """A text to run, and where."""

    claim: ClaimArgument = Field(
        default=None,
        description="what is said to happen. Best as data, which is judged as it stands: an object with"
        ' `checks`, such as {"checks": [{"kind": "exception", "type": "RuntimeError", "message": "boom"}]},'
        ' {"kind": "value", "number": "86", "label": "sum"} or {"kind": "output", "lines": ["nan"]}.'
        " Other kinds: crash, hang, differs, varies, slower, exit_status, no_error, out_of_memory,"
        " out_of_bounds, lacks; an `at` of"
        ' {"script": 1} says where. `read_report` answers a claim in this form, and the resource'
        f" {CLAIM_RESOURCE} has its schema. Words are read by rules. Without it, the claim is read from the"
        " report",
    )

    preset: str | None = Field(
        default=None,
        max_length=100,
        description="a named set of targets, such as `quick` (the newest version), `version` (all of them) or"
        " `cpu-isa`",
    )
    targets: list[Target] | None = Field(
        default=None, max_length=50, description="targets by name, instead of a preset"
    )
    repeats: int | None = Field(
        default=None, ge=1, le=250, description="exactly so many attempts of each cell; leave it out"
    )
    source_url: str | None = Field(default=None, max_length=2000, description="the address of the issue")
    plan_only: bool = Field(default=False, description="only estimate the cost; nothing is stored or run")
    request_key: str | None = Field(
        default=None,
        min_length=8,
        max_length=100,
        description="a random key of your own: a repeated call with the same key and arguments runs once",
    )


class RunArguments(Arguments):
    """A run to look at."""

    run: Id
    wait_seconds: int = Field(
        default=0,
        ge=0,
        le=MOST_WAIT_SECONDS,
        description="wait at most so long for the run to end, and then answer whatever there is",
    )


class ExplainArguments(Arguments):
    """A report whose numbers to explain."""

    report: Id
    start: bool = Field(
        default=False,
        description="start a traced run, which takes a minute or more; without it, read what there is",
    )


class CompareArguments(Arguments):
    """Two attempts to compare."""

    baseline: Id = Field(description="the id of an attempt, the expected side")
    candidate: Id = Field(description="the id of another attempt, also of another run")


class BisectArguments(Arguments):
    """A bisection to start, by its report, or to look at."""

    report: Id | None = Field(default=None, description="start a bisection of this report")
    bisection: Id | None = Field(default=None, description="look at this bisection instead")
    over: str = Field(
        default="torch",
        min_length=1,
        max_length=100,
        description="a package, `python`, `threads` or `cpu-isa`",
    )
    begin: str | None = Field(
        default=None, max_length=100, description="where the series begins, such as 2.1"
    )
    end: str | None = Field(default=None, max_length=100, description="where it ends, such as 2.13")
    request_key: str | None = Field(default=None, min_length=8, max_length=100, description="as for `submit`")


class SearchArguments(Arguments):
    """A search in the history."""

    query: str = Field(
        default="",
        max_length=300,
        description="words and fields that must all match, such as `verdict:reproduced device:cuda"
        " toolchain:torch>=2.11 logdet`; a `-` before a term excludes it",
    )
    source_url: str | None = Field(
        default=None, max_length=2000, description="only reports of the issue with exactly this address"
    )
    cursor: str | None = Field(default=None, max_length=26, description="`next` of the page before")
    limit: int = Field(default=10, ge=1, le=20)


class GateArguments(Arguments):
    """Issues that may be closed or not."""

    issues: list[Annotated[str, Field(min_length=1, max_length=2000)]] = Field(
        min_length=1,
        max_length=20,
        description="each is the address of an issue, OWNER/REPOSITORY#NUMBER, or the id of a report",
    )
