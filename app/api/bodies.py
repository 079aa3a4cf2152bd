"""Bodies of requests and answers, other than the run object."""

from __future__ import annotations

import json
from typing import Annotated, Any, Generic, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from app.errors import InputError
from app.intake.reading import Ask, NeedKind
from app.intake.typed.claim_form import ClaimForm, text_of_data
from app.judging.judgement import Verdict
from app.judging.verdict.rerunnable import Which
from app.runs.rows.nodes import PublicToolchain
from app.runs.rows.page import Page
from app.runs.run_object.document import ReportPart
from app.runs.submission.submit import Submission
from app.targets.parse import make_target
from app.targets.pattern import FORM
from app.targets.planning.presets import Preset
from app.targets.planning.run_request import RunRequest
from app.targets.target import Target

Item = TypeVar("Item")


def _encodable(text: str) -> str:
    r"""Refuse half of a surrogate pair: JSON can write `\ud800`, but Postgres cannot store it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("this text has half of a surrogate pair") from error
    return text


Words = Annotated[str, AfterValidator(_encodable)]
Pattern = Annotated[str, AfterValidator(_encodable), Field(max_length=500)]


def _to_text(report: Any) -> Any:
    """Turn a thread that was sent as an object into its JSON text, which is the other way to send it."""
    if not isinstance(report, dict):
        return report
    if "body" not in report:
        raise ValueError("a thread is an object with a body")
    try:
        return json.dumps(report, ensure_ascii=False)
    except RecursionError as error:
        raise ValueError("the thread is nested too deeply") from error


REPORT = (
    "the body of an issue in Markdown, or a thread: an object, or a string with its JSON,"
    " for example the output of `gh issue view --json`"
)
_TEXT = {"type": ["string", "null"]}
_NAME = {"type": ["string", "object", "null"]}
_WHO = {
    "author": {**_NAME, "description": "a name, or an object with a `login`"},
    "user": {**_NAME, "description": "the author, in the form of GitHub's REST API"},
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
        "url": {**_TEXT, "description": "the address of the thread; it is used if there is no `source_url`"},
    },
    "description": "A report with its comments. Other fields are stored but not read.",
}
ReportText = Annotated[
    str,
    BeforeValidator(_to_text),
    AfterValidator(_encodable),
    WithJsonSchema({"anyOf": [{"type": "string"}, _THREAD], "title": "Report"}),
]


_CLAIM_OR_WORDS = TypeAdapter(str | ClaimForm).core_schema


class _ClaimSchema:
    """Describes a claim in OpenAPI: words, or the form of a claim as data."""

    @classmethod
    def __get_pydantic_json_schema__(cls, _: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(_CLAIM_OR_WORDS), "title": "Claim"}


def _claim_as_text(claim: Any) -> Any:
    """A claim that was sent as an object, as its JSON text, which is the other way to send it."""
    return text_of_data(claim) if isinstance(claim, dict) else claim


CLAIM = (
    "the claim in words, or as data: an object, or a string with its JSON. Data is judged as it stands;"
    " `reports:read` answers the claim in the same form, so that it can be mended and sent back"
)
CLAIM_EXAMPLE: dict[str, Any] = {
    "subject": "numpy",
    "checks": [
        {"id": "a", "kind": "value", "number": "86", "at": {"script": 1}},
        {"id": "b", "of": "a", "role": "expected", "kind": "value", "number": "4950"},
    ],
}
ClaimText = Annotated[str, BeforeValidator(_claim_as_text), AfterValidator(_encodable), _ClaimSchema()]

IGNORE_NEEDS = (
    "run it anyway: kinds of needs that were read from the script wrongly; the run says that the submitter"
    " asked for it"
)
IgnoreNeeds = Annotated[list[NeedKind], Field(max_length=len(NeedKind))]
MOST_FIELDS = 100
ENVIRONMENT = (
    "fields of the reporter's environment that were read wrongly or not at all, by the names that"
    " `reports:read` answers, such as `os.name`, `python.version` or `package.numpy`; null takes a field away"
)
ENVIRONMENT_EXAMPLE = {"os.name": "Windows 11", "package.numpy": "2.4.0", "gpu.0.model": None}


def _few(fields: Any) -> Any:
    """Refuse very many fields at once, as `Body` does."""
    if isinstance(fields, dict) and len(fields) > MOST_FIELDS:
        raise ValueError(f"it has at most {MOST_FIELDS} fields")
    return fields


Settings = Annotated[dict[Words, Words | int | bool], BeforeValidator(_few)]
EnvironmentFields = Annotated[dict[Words, Words | int | None], BeforeValidator(_few)]


def _as_corrections(environment: EnvironmentFields) -> tuple[tuple[str, str], ...]:
    return tuple((name, "" if value is None else str(value)) for name, value in environment.items())


class Body(BaseModel):
    """A request body. An unknown field is an error, so that a typo does not silently become a default."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, data: Any) -> Any:
        """Refuse an object with very many fields at once: otherwise each would make an error of its own."""
        if isinstance(data, dict) and len(data) > MOST_FIELDS:
            raise ValueError(f"this object has {len(data)} fields, and more than {MOST_FIELDS} are not read")
        return data


class TargetBody(Body):
    """A requested target."""

    device: Words = Field(default="cpu", examples=["cuda"])
    gpus: int = Field(default=0, ge=0, le=16)
    capability: Words | None = Field(default=None, examples=["sm90"])
    toolchain: Words = Field(default="", max_length=100, examples=["torch-2.13"])
    settings: Settings = Field(default_factory=dict, examples=[{"cpu-isa": "sse4.2"}])

    def target(self) -> Target:
        """The target. Raises InputError."""
        return make_target(self.model_dump())


class RunRequestBody(Body):
    """The cells to run: a preset or targets. Without both, the default preset is meant."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"preset": "quick", "include": ["cuda:deterministic"]}]},
    )

    preset: Words | None = Field(default=None, max_length=100)
    targets: list[TargetBody] | None = Field(default=None, max_length=400)
    repeats: int | None = Field(
        default=None,
        ge=1,
        description="the exact number of attempts for each cell; by default the number adapts to the results",
    )
    include: list[Pattern] = Field(
        default_factory=list,
        max_length=100,
        description=f"cells to add, as patterns: {FORM}",
    )
    exclude: list[Pattern] = Field(
        default_factory=list,
        max_length=100,
        description="cells to leave out, as patterns; `exclude` takes precedence over `include`",
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
    claim: ClaimText | None = Field(
        default=None, description=CLAIM, examples=["prints 2.0, expected 3.0", CLAIM_EXAMPLE]
    )
    title: Words = ""
    source_url: Words | None = Field(default=None, examples=["https://github.com/pytorch/pytorch/issues/1"])
    ignore_needs: IgnoreNeeds = Field(default_factory=list, description=IGNORE_NEEDS, examples=[["file"]])
    environment: EnvironmentFields = Field(
        default_factory=dict, description=ENVIRONMENT, examples=[ENVIRONMENT_EXAMPLE]
    )
    awaited: bool = Field(
        default=True,
        description="false: nobody waits for the result, so the run has a low priority and no preview",
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
            ignore_needs=tuple(self.ignore_needs),
            environment=_as_corrections(self.environment),
            idempotency_key=idempotency_key,
        )


class RerunBody(Body):
    """The cells to rerun."""

    which: Which = Field(
        description=(
            "`failed`: cells that were cancelled, not recorded, or served by no node;"
            " `undecided`: also cells that can't show the claim; `all`: all cells, as a new run"
        ),
        examples=["failed"],
    )


class CellsBody(Body):
    """A target to add."""

    target: TargetBody = Field(examples=[{"device": "cpu", "settings": {"threads": 1}}])


class ReadBody(Body):
    """A text to read. Nothing is run."""

    script: Words | None = None
    report: ReportText | None = Field(default=None, description=REPORT)
    claim: ClaimText | None = Field(default=None, description=CLAIM)
    title: Words = ""
    ignore_needs: IgnoreNeeds = Field(default_factory=list, description=IGNORE_NEEDS, examples=[["file"]])
    environment: EnvironmentFields = Field(
        default_factory=dict, description=ENVIRONMENT, examples=[ENVIRONMENT_EXAMPLE]
    )

    def corrections(self) -> tuple[tuple[str, str], ...]:
        """The corrected fields of the environment with their values, empty for one that is taken away."""
        return _as_corrections(self.environment)


class ReadingBody(BaseModel):
    """The result of reading a text."""

    report: ReportPart
    verdict: Verdict | None
    ask: list[Ask]


class PageBody(BaseModel, Generic[Item]):
    """A page of a list, newest first. `next` is the cursor of the next page; it is null on the last page."""

    items: list[Item] = Field(description="the items of this page")
    next: str | None = Field(default=None, description="the `cursor` of the next page; null on the last page")

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """A stable name without brackets, such as `RunSummaryPage`, for clients made from OpenAPI."""
        return f"{params[0].__name__}Page"

    @classmethod
    def of(cls, page: Page[Item]) -> Self:
        """The body of a page."""
        return cls(items=list(page.items), next=page.next_cursor)


class PresetBody(BaseModel):
    """A named matrix: devices × toolchains × settings, with patterns that add and remove cells."""

    name: str
    summary: str
    settings: list[dict[str, str]]
    devices: list[str] = Field(description="only these devices; empty: every device of the fleet")
    toolchains: list[str] = Field(
        description=(
            'the beginnings of their names; "" stands for the newest toolchain,'
            ' "*" for every toolchain that has the packages of the script'
        )
    )
    each_card: bool = Field(description="whether each model of GPU has its own cells")
    own: bool = Field(description="whether the operator of this service defined it")
    versions: bool = Field(
        description="true: every toolchain that has the packages of the script; false: only the newest one"
    )
    include: list[str]
    exclude: list[str]
    repeats: int

    @classmethod
    def of(cls, preset: Preset) -> PresetBody:
        """The body of a preset."""
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
    """A toolchain and the nodes that have it."""

    name: str
    nodes: list[str]
    facts: PublicToolchain


class HealthBody(BaseModel):
    """The status of the service: `alive` or `ready`."""

    status: str
