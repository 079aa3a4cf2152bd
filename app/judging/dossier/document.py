"""The dossier as data: `explain --json` prints it, and `GET /api/v1/reports/{id}/explain` answers it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from app.judging.judgement import Defect
from worker.contract.trace import Trace

DOSSIER_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DossierCell:
    """The facts of a cell for the dossier: its target, its output, and its trace if it has one.

    `layer` is the setting `compile`, `graphs` how many graphs were compiled with it (None if unknown), and
    `failure` the type of the exception of a failed attempt.
    `attempts` counts the ended attempts, and `outputs` the different texts that they printed.
    """

    label: str
    stdout: str = ""
    attempts: int = 0
    outputs: int = 0
    settings: frozenset[str] = frozenset()
    device: str = "cpu"
    layer: str = ""
    graphs: int | None = None
    failure: str = ""
    trace: Trace | None = None


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Right(StrEnum):
    """Which side of a number is right."""

    ALL = "all"
    SOME = "some"
    NONE = "none"
    UNKNOWN = "unknown"


class NumberSide(_Part):
    """One side of a number: a target, or one of two tensors that the script compares.

    `error` is the absolute distance to the float64 `reference`, `ulps` the same in units in the last place
    of `dtype`, `relative` the largest one of a tensor over its largest number. `uncertainty` is how far the
    reference itself moves if the inputs move by one unit, `rounding` how far it moves if each step is
    rounded. `explained`: whether these allow the error; null if unknown.
    """

    label: str
    dtype: str
    value: float | str
    reference: float | str
    error: float | None = None
    ulps: float | None = None
    relative: float | None = None
    uncertainty: float | None = None
    rounding: float | None = None
    explained: bool | None = None


class NumberInQuestion(_Part):
    """A number or tensor that the script shows. For a tensor, each side has its worst element.

    `judgeable` is false if the reference was computed with a kernel that the script registers.
    `lines` are the lines of the output that show it, as far as they are known. `gap` is the largest distance
    between two sides, `reference_gap` the distance of their references there. `formulas_differ`: two sides of
    a comparison are far apart in float64, too. `sentence` says which side is right and by how much.
    """

    name: str
    about: str
    lines: list[int] = Field(default_factory=list)
    shape: list[int] = Field(default_factory=list)
    sides: list[NumberSide]
    judgeable: bool = True
    gap: float | None = None
    reference_gap: float | None = None
    formulas_differ: bool = False
    right: Right = Right.UNKNOWN
    sentence: str = ""


class Distance(_Part):
    """How far two executions are apart after one operation, relative to the size of its result."""

    number: int
    operation: str
    distance: float


class Divergence(_Part):
    """Two traced executions, operation by operation, by digests of their bits.

    `pairs` counts operations that both have, `unpaired` the others, `differing` pairs with unequal outputs,
    and `origins` those of them with equal inputs. `begins_at` has the two numbers of the first of these, or
    of the first differing pair; null if none differs. `omitted` operations were not compared.

    `ulps` is the distance there, of the elements that were compared, in units in the last place; null if only
    others differ. `curve` has the relative distances in the order of the operations, and `grows` the step
    that enlarges the largest one so far the most, with `grows_by`, the factor.
    """

    cells: tuple[str, str]
    pairs: int
    unpaired: int
    differing: int
    origins: int
    begins_at: tuple[int, int] | None = None
    operation: str | None = None
    on_equal_inputs: bool = False
    omitted: int = 0
    ulps: float | None = None
    curve: list[Distance] = Field(default_factory=list)
    grows: Distance | None = None
    grows_by: float | None = None


class Question(_Part):
    """One of the questions A to E. `answer`: null if there is none; `test`: how it was found."""

    letter: str
    asks: str
    answer: str | None = None
    test: str
    facts: list[str] = Field(default_factory=list)


class Dossier(_Part):
    """All that is known about the numbers of a script. `cells` are the traced targets.

    `cause` is null where no test showed one. `unknown` says what was not looked at, or can't be known.
    """

    version: int = DOSSIER_VERSION
    report: str | None = None
    run: str | None = None
    title: str = ""
    summary: str
    cells: list[str] = Field(default_factory=list)
    numbers: list[NumberInQuestion] = Field(default_factory=list)
    numbers_omitted: int = 0
    cause: str | None = None
    cause_sentence: str = ""
    cause_test: str = ""
    defect: Defect = Defect.UNDECIDED
    defect_sentence: str = ""
    divergences: list[Divergence] = Field(default_factory=list)
    questions: list[Question] = Field(default_factory=list)
    unknown: list[str] = Field(default_factory=list)


def cells_with_trace(cells: Sequence[DossierCell]) -> list[DossierCell]:
    """The cells with a trace."""
    return [cell for cell in cells if cell.trace is not None]
