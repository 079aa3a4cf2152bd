"""What was read from a report: scripts, claim, claimed environment, and what must be asked."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.intake.claim.claims import Claim
from app.intake.probe_output import ReportersProbe
from worker.contract import Environment


class ScriptRole(StrEnum):
    """What a piece of code in a report is for."""

    MAIN = "main"
    ALTERNATIVE = "alternative"
    CONTROL = "control"
    PART = "part"


class NeedKind(StrEnum):
    """What a script cannot run without."""

    PACKAGE = "package"
    GPU = "gpu"
    FILE = "file"
    NETWORK = "network"
    MEMORY = "memory"
    ARGUMENTS = "arguments"
    INPUT = "input"
    OS = "os"


class Need(BaseModel):
    """One need, by static reading; `name` is the package, the file, or how much in words; `count` the GPUs, `bytes` the memory."""

    model_config = ConfigDict(frozen=True)

    kind: NeedKind
    name: str = ""
    count: int = 1
    bytes: int | None = None
    line: int | None = None


class Repair(BaseModel):
    """A named change between the script as given and as run; never silent."""

    model_config = ConfigDict(frozen=True)

    code: str
    detail: str = ""
    line: int | None = None


class Script(BaseModel):
    """Code taken from a report, as given and as run."""

    model_config = ConfigDict(frozen=True)

    role: ScriptRole = ScriptRole.MAIN
    as_given: str
    script: str
    repairs: tuple[Repair, ...] = ()
    digest: str
    needs: tuple[Need, ...] = ()
    # Whether the script draws random numbers without a seed: repeats may then differ for that reason alone.
    unseeded: bool = False


class Ask(BaseModel):
    """What the reporter must supply. `text` holds no bytes of the report: models read it."""

    model_config = ConfigDict(frozen=True)

    code: str
    text: str


class Reading(BaseModel):
    """The result of intake. With `ask` there is nothing to run."""

    model_config = ConfigDict(frozen=True)

    title: str = ""
    # Where a thread says that it stands.
    source_url: str | None = None
    scripts: tuple[Script, ...] = ()
    claim: Claim = Field(default_factory=Claim)
    environment: Environment = Field(default_factory=dict)
    ask: tuple[Ask, ...] = ()
    # What `probe.py` saw in the reporter's own Python, by the reporter's word.
    probe: ReportersProbe | None = None

    def script_of(self, digest: str) -> Script:
        """The script with this digest. Raises StopIteration where there is none."""
        return next(script for script in self.scripts if script.digest == digest)
