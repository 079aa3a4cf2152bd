"""Two attempts side by side: what differs in what they showed, and in the environments they ran in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.judging.judgement import ComparisonResult
from app.judging.numbers import Number
from app.judging.output import Token, tokens_of
from worker.contract import Environment, Outcome, Result

MOST_SHOWN = 300
MOST_LINES = 400
# Ours: nothing that could be compared.
_NOTHING = {Outcome.LOST, Outcome.CANCELLED, Outcome.SETUP_FAILED}

# What most often explains a numeric difference, first. Anything else follows by name.
_CULPRITS = (
    "blas.path",
    "blas.cnr",
    "torch.version",
    "torch.cpu_capability",
    "onednn.isa",
    "gpu.",
    "cuda.",
    "cudnn.",
    "tf32.",
    "deterministic.",
    "float32_matmul_precision",
    "precision.",
    "threads.",
    "default.",
    "cpu.",
    "python.version",
    "package.",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference, both sides cut short; hostile text."""

    about: str
    baseline: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison says; `first` is the first printed line in which the two differ."""

    result: ComparisonResult
    differences: tuple[Difference, ...] = ()
    first: Difference | None = None
    first_line: int | None = None


def compare(baseline: Result, candidate: Result) -> Comparison:
    """Compare what two attempts showed. The environments' differences are listed, and never decide."""
    environment = environment_differences(baseline.environment, candidate.environment)
    if baseline.outcome in _NOTHING or candidate.outcome in _NOTHING:
        return Comparison(ComparisonResult.INCOMPARABLE, differences=environment)
    ending = _ending_differences(baseline, candidate)
    one, other = baseline.observation, candidate.observation
    same_bytes = one.stdout_digest == other.stdout_digest if one.stdout_digest and other.stdout_digest else one.stdout == other.stdout
    printed, number = (None, None) if same_bytes else _first_printed(one.stdout, other.stdout)
    shown = (*ending, *([printed] if printed else []))
    if shown:
        result = ComparisonResult.DIFFERENT
    elif same_bytes:
        result = ComparisonResult.IDENTICAL
    elif one.truncated or other.truncated:
        result = ComparisonResult.DIFFERENT
    else:
        result = ComparisonResult.EQUIVALENT
    return Comparison(result, differences=(*shown, *environment), first=printed, first_line=number)


def _ending_differences(baseline: Result, candidate: Result) -> list[Difference]:
    one, other = baseline.observation, candidate.observation
    pairs = (
        ("outcome", baseline.outcome, candidate.outcome),
        ("exit_status", one.exit_status, other.exit_status),
        ("signal", one.signal, other.signal),
        ("exception", _exception(baseline), _exception(candidate)),
    )
    return [Difference(about, _cut(str(left)), _cut(str(right))) for about, left, right in pairs if left != right]


def _exception(result: Result) -> str | None:
    raised = result.observation.exception
    return None if raised is None else f"{raised.type}: {raised.message}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_SHOWN else text[:MOST_SHOWN] + "…"


def _first_printed(baseline: str, candidate: str) -> tuple[Difference | None, int | None]:
    """The first line that says something else; spacing and addresses aside."""
    one, other = baseline.splitlines()[:MOST_LINES], candidate.splitlines()[:MOST_LINES]
    for number in range(max(len(one), len(other))):
        left = one[number] if number < len(one) else ""
        right = other[number] if number < len(other) else ""
        if left != right and not _same(tokens_of(left), tokens_of(right)):
            return Difference("stdout", _cut(left), _cut(right)), number + 1
    return None, None


def _same(one: Sequence[Token], other: Sequence[Token]) -> bool:
    """Whether two lines say exactly the same: equal digits, equal words."""
    return [_exact(token) for token in one] == [_exact(token) for token in other]


def _exact(token: Token) -> str:
    return token.text if isinstance(token, Number) else token


def environment_differences(baseline: Environment, candidate: Environment) -> tuple[Difference, ...]:
    """The fields in which two environments differ, likeliest culprit first."""
    names = [name for name in baseline.keys() | candidate.keys() if baseline.get(name) != candidate.get(name)]
    names = [name for name in names if not name.startswith("variable.") and name != "blas.fingerprint"]
    return tuple(
        Difference(f"environment: {name}", _cut(_field(baseline, name)), _cut(_field(candidate, name)))
        for name in sorted(names, key=lambda name: (_culprit(name), name))
    )


def _culprit(name: str) -> int:
    return next((at for at, begin in enumerate(_CULPRITS) if name.startswith(begin)), len(_CULPRITS))


def _field(environment: Environment, name: str) -> str:
    value = environment.get(name)
    return "not known" if value is None else str(value)
