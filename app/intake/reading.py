"""The result of intake: scripts, claim, claimed environment, needs, and questions to the reporter."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.intake.claim.claims import Claim
from app.intake.exhibit import Exhibit
from app.intake.probe_output import ReportersProbe
from worker.contract import Environment


class ScriptRole(StrEnum):
    """The purpose of a piece of code in a report."""

    MAIN = "main"
    ALTERNATIVE = "alternative"
    CONTROL = "control"
    PART = "part"


class NeedKind(StrEnum):
    """The kinds of things that a script can't run without."""

    PACKAGE = "package"
    GPU = "gpu"
    DEVICE = "device"
    FILE = "file"
    NETWORK = "network"
    MEMORY = "memory"
    ARGUMENTS = "arguments"
    INPUT = "input"
    OS = "os"


class Need(BaseModel):
    """One need, found by static reading.

    `name` is the package, the file, the device, or an amount in words. `count` is the number of GPUs.
    `bytes` is the memory.
    """

    model_config = ConfigDict(frozen=True)

    kind: NeedKind
    name: str = ""
    count: int = 1
    bytes: int | None = None
    line: int | None = None


class Repair(BaseModel):
    """A named change between the script as given and as run. Every change has one."""

    model_config = ConfigDict(frozen=True)

    code: str
    detail: str = ""
    line: int | None = None


class Script(BaseModel):
    """Code of a report, as given and as run."""

    model_config = ConfigDict(frozen=True)

    role: ScriptRole = ScriptRole.MAIN
    as_given: str
    script: str
    repairs: tuple[Repair, ...] = ()
    digest: str
    needs: tuple[Need, ...] = ()
    # True if the script draws random numbers without a seed. Repeats may differ for that reason alone.
    unseeded: bool = False
    # True if a statement that always runs asserts that two values are equal or close.
    asserts_equality: bool = False


class Ask(BaseModel):
    """A question to the reporter. `text` holds no bytes of the report, since models read it."""

    model_config = ConfigDict(frozen=True)

    code: str
    text: str


class ClaimSource(StrEnum):
    """Where a claim comes from, the strongest source first."""

    CORRECTED = "corrected"  # by the submitter or a maintainer
    TYPED = "typed"  # sent as data
    RULES = "rules"  # read from words


class ModelNote(BaseModel):
    """A model's answer about a report, and its effect."""

    model_config = ConfigDict(frozen=True)

    # The name of the model; empty if somebody else asked it.
    model: str = ""
    # The version of the instructions, and the answer as it came.
    prompt: int
    answer: str
    # The parts of the answer that do not stand in the report.
    dropped: tuple[str, ...] = ()
    # Whether the claim is another one with it.
    changed: bool = False


class Reading(BaseModel):
    """The result of intake. If `ask` is not empty, nothing can be run."""

    model_config = ConfigDict(frozen=True)

    title: str = ""
    # The address that a thread states for itself.
    source_url: str | None = None
    scripts: tuple[Script, ...] = ()
    claim: Claim = Field(default_factory=Claim)
    claim_source: ClaimSource = ClaimSource.RULES
    # The evidence in the text. Readings that were stored before there were exhibits have none.
    exhibits: tuple[Exhibit, ...] = ()
    environment: Environment = Field(default_factory=dict)
    # Fields of it that the submitter corrected, as they were read; an empty text for a field that was not.
    environment_as_read: Environment = Field(default_factory=dict, exclude_if=lambda fields: not fields)
    ask: tuple[Ask, ...] = ()
    # Needs that were read, and that the submitter says are none.
    ignored_needs: tuple[Need, ...] = ()
    # A model's answer, if one was asked.
    model: ModelNote | None = None
    # The probe's observations in the reporter's own Python.
    probe: ReportersProbe | None = None

    def script_of(self, digest: str) -> Script:
        """The script with this digest. Raises StopIteration if there is none."""
        return next(script for script in self.scripts if script.digest == digest)
