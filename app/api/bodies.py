"""What REST takes and gives beyond the run object."""

from __future__ import annotations

import json
from typing import Annotated, Any, Generic, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from app.errors import InputError
from app.intake.reading import Ask
from app.judging.judgement import Verdict
from app.runs.document import ReportPart
from app.runs.nodes import PublicToolchain
from app.runs.submit import Submission
from app.targets.parse import make_target
from app.targets.target import Target

Item = TypeVar("Item")


def _whole(text: str) -> str:
    r"""Refuse half a character: JSON can write `\ud800`, and no database can keep it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("there is half a surrogate pair in this text") from error
    return text


Words = Annotated[str, AfterValidator(_whole)]


def _as_text(report: Any) -> Any:
    """A thread that was sent as an object, as the JSON that a string may hold too; read in one place, kept as it was sent."""
    if not isinstance(report, dict):
        return report
    if "body" not in report:
        raise ValueError("a thread is an object with a body")
    try:
        return json.dumps(report, ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


REPORT = "the body of an issue, in Markdown; or a thread, as an object or as its JSON in a string (that of `gh issue view --json`, say)"
_TEXT = {"type": ["string", "null"]}
_NAME = {"type": ["string", "object", "null"]}
_WHO = {
    "author": {**_NAME, "description": "a name, or an object with a `login`"},
    "user": {**_NAME, "description": "the author, as GitHub's REST says it"},
}
_COMMENT = {"type": "object", "required": ["body"], "properties": {"body": _TEXT, **_WHO}}
_THREAD = {
    "type": "object",
    "required": ["body"],
    "properties": {
        "title": _TEXT,
        "body": _TEXT,
        **_WHO,
        "comments": {"anyOf": [{"type": "array", "items": _COMMENT}, {"type": "null"}, {"const": 0}]},
        "html_url": _TEXT,
        "url": {**_TEXT, "description": "where it stands; the `source_url` if none is given"},
    },
    "description": "A report with its comments. Other fields, such as those that GitHub adds, are kept and not read.",
}
ReportText = Annotated[
    str, BeforeValidator(_as_text), AfterValidator(_whole), WithJsonSchema({"anyOf": [{"type": "string"}, _THREAD], "title": "Report"})
]


class Body(BaseModel):
    """A request body; a field that does not exist is an error, so that a typo is not a silent default."""

    model_config = ConfigDict(extra="forbid")


class TargetBody(Body):
    """A target as asked for."""

    device: Words = Field(default="cpu", examples=["cuda"])
    gpus: int = Field(default=0, ge=0, le=16)
    capability: Words | None = Field(default=None, examples=["sm90"])
    toolchain: Words = Field(default="", max_length=100, examples=["torch-2.13"])
    settings: dict[Words, Words | int | bool] = Field(default_factory=dict, examples=[{"cpu-isa": "sse4.2"}])

    def target(self) -> Target:
        """The checked target. Raises InputError."""
        return make_target(self.model_dump())


class WishBody(Body):
    """Where to run: a preset or targets; neither means the default preset."""

    preset: Words | None = Field(default=None, max_length=100, examples=["quick"])
    targets: list[TargetBody] | None = Field(default=None, max_length=400)
    repeats: int | None = Field(default=None, ge=1, description="exactly so many attempts a cell; without it they adapt")

    def made_targets(self) -> tuple[Target, ...] | None:
        """The checked targets."""
        return None if self.targets is None else tuple(target.target() for target in self.targets)


class RunBody(WishBody):
    """A submission: a script or a report."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "script": "import torch\nprint(torch.ones(2).sum().item())\n",
                    "claim": "prints 2.0, expected 3.0",
                    "targets": [{"device": "cpu", "settings": {"threads": 1}}],
                    "repeats": 3,
                }
            ]
        },
    )

    script: Words | None = Field(default=None, examples=["import torch\nprint(torch.ones(2).sum().item())\n"])
    report: ReportText | None = Field(default=None, description=REPORT)
    claim: Words | None = Field(default=None, examples=["prints 2.0, expected 3.0"])
    title: Words = ""
    source_url: Words | None = Field(default=None, examples=["https://github.com/pytorch/pytorch/issues/1"])

    def submission(self, *, idempotency_key: str | None) -> Submission:
        """The submission. Raises InputError."""
        if (self.script is None) == (self.report is None):
            raise InputError("Send exactly one of script and report.", code="script_or_report", field="script")
        return Submission(
            script=self.script,
            report=self.report,
            claim=self.claim,
            preset=self.preset,
            targets=self.made_targets(),
            repeats=self.repeats,
            title=self.title,
            source_url=self.source_url,
            idempotency_key=idempotency_key,
        )


class ReadBody(Body):
    """A text to read, without running anything."""

    script: Words | None = None
    report: ReportText | None = Field(default=None, description=REPORT)
    claim: Words | None = None
    title: Words = ""


class ReadingBody(BaseModel):
    """What was read."""

    report: ReportPart
    verdict: Verdict | None
    ask: list[Ask]


class PageBody(BaseModel, Generic[Item]):
    """A page of a list, newest first; `next` is the cursor of the next page, null on the last one."""

    items: list[Item]
    next: str | None = None


class PresetBody(BaseModel):
    """A named matrix."""

    name: str
    summary: str
    settings: list[dict[str, str]]
    versions: bool = Field(description="whether it covers every toolchain that has what the script imports, or the newest only")
    repeats: int


class ToolchainBody(BaseModel):
    """A toolchain, and the nodes that have it."""

    name: str
    nodes: list[str]
    facts: PublicToolchain


class HealthBody(BaseModel):
    """Alive, or ready."""

    status: str
