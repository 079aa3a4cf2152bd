"""What REST takes and gives beyond the run object."""

from __future__ import annotations

import json
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from app.errors import InputError
from app.intake.reading import Ask
from app.judging.judgement import Verdict
from app.judging.verdict.rerunnable import Which
from app.runs.rows.nodes import PublicToolchain
from app.runs.rows.page import Page
from app.runs.run_object.document import ReportPart, RunDocument
from app.runs.submission.submit import Submission
from app.targets.parse import make_target
from app.targets.pattern import FORM
from app.targets.planning.presets import Preset
from app.targets.planning.run_request import RunRequest
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
Pattern = Annotated[str, AfterValidator(_whole), Field(max_length=500)]


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
    str,
    BeforeValidator(_as_text),
    AfterValidator(_whole),
    WithJsonSchema({"anyOf": [{"type": "string"}, _THREAD], "title": "Report"}),
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


class RunRequestBody(Body):
    """The cells to run: a preset or targets. Without both, the default preset is meant."""

    preset: Words | None = Field(default=None, max_length=100, examples=["quick"])
    targets: list[TargetBody] | None = Field(default=None, max_length=400)
    repeats: int | None = Field(
        default=None, ge=1, description="exactly so many attempts a cell; without it they adapt"
    )
    include: list[Pattern] = Field(
        default_factory=list,
        max_length=100,
        description=f"cells to add to those, as patterns: {FORM}",
        examples=[["cuda:deterministic"]],
    )
    exclude: list[Pattern] = Field(
        default_factory=list,
        max_length=100,
        description="cells to leave out, as patterns; what is left out stays out, included or not",
        examples=[["cpu:*"]],
    )

    def checked_targets(self) -> tuple[Target, ...] | None:
        """The targets. Raises InputError."""
        return None if self.targets is None else tuple(target.target() for target in self.targets)

    def run_request(self) -> RunRequest:
        """The request. Raises InputError."""
        return RunRequest(
            preset=self.preset,
            targets=self.checked_targets(),
            repeats=self.repeats,
            include=tuple(self.include),
            exclude=tuple(self.exclude),
        )


class RunBody(RunRequestBody):
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

    awaited: bool = Field(
        default=True,
        description="false: nobody waits for it; it runs behind all that was submitted, without a preview",
    )

    def submission(self, *, idempotency_key: str | None) -> Submission:
        """The submission. Raises InputError."""
        if (self.script is None) == (self.report is None):
            raise InputError(
                "Send exactly one of script and report.", code="script_or_report", field="script"
            )
        return Submission(
            script=self.script,
            report=self.report,
            claim=self.claim,
            preset=self.preset,
            targets=self.checked_targets(),
            repeats=self.repeats,
            include=tuple(self.include),
            exclude=tuple(self.exclude),
            title=self.title,
            source_url=self.source_url,
            awaited=self.awaited,
            idempotency_key=idempotency_key,
        )


class SubmittedRun(RunDocument):
    """A run as planned, with the link that withdraws what was submitted."""

    withdraw_url: str | None = Field(
        default=None,
        description="an address on this service, to be kept secret: whoever has it can erase the report. Given once, to who submitted it",
        json_schema_extra={"format": "uri-reference"},
    )


class RerunBody(Body):
    """Which cells to run again."""

    which: Which = Field(
        description="`failed`: stopped, not recorded, or served by no node; `undecided`: those, and what can't show the claim; `all`",
        examples=["failed"],
    )


class CellsBody(Body):
    """A target to add."""

    target: TargetBody


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

    @classmethod
    def of(cls, page: Page[Item]) -> Self:
        """The body of a page."""
        return cls(items=list(page.items), next=page.next_cursor)


class PresetBody(BaseModel):
    """A named matrix: devices × toolchains × settings of the fleet. `include` adds to it and `exclude` leaves out, as patterns."""

    name: str
    summary: str
    settings: list[dict[str, str]]
    devices: list[str] = Field(description="of these devices only; empty: of each that there is")
    toolchains: list[str] = Field(
        description='how their names begin; "" is the newest, "*" each that has what the script imports'
    )
    each_card: bool = Field(description="whether each kind of card has cells of its own")
    own: bool = Field(description="whether it is of the operator's own")
    versions: bool = Field(
        description="whether it covers every toolchain that has what the script imports, or the newest only"
    )
    include: list[str]
    exclude: list[str]
    repeats: int

    @classmethod
    def of(cls, preset: Preset) -> PresetBody:
        """As it is shown."""
        return cls(
            name=preset.name,
            summary=preset.summary,
            settings=list(preset.settings),
            devices=[str(device) for device in preset.devices],
            toolchains=list(preset.toolchains),
            each_card=preset.each_card,
            own=preset.own,
            versions=preset.versions,
            include=[pattern.label() for pattern in preset.include],
            exclude=[pattern.label() for pattern in preset.exclude],
            repeats=preset.repeats,
        )


class ToolchainBody(BaseModel):
    """A toolchain, and the nodes that have it."""

    name: str
    nodes: list[str]
    facts: PublicToolchain


class HealthBody(BaseModel):
    """Alive, or ready."""

    status: str
