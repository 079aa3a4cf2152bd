"""The environment of a reporter with the fields that they corrected or added."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from app.errors import InputError
from app.intake.reading import Reading
from app.intake.text.claimed_environment import cudnn_number
from worker.contract import Environment

MOST_CHARACTERS = 200
MOST_CORRECTIONS = 100
# Fields that can be added if they were not read, with their words for people. `package.NAME` is one, too.
FIELDS: Mapping[str, str] = {
    "os.name": "operating system",
    "python.version": "Python",
    "torch.version": "torch",
    "gpu.0.model": "GPU",
    "gpu.driver": "driver of the GPU",
    "torch.cuda_build": "CUDA of torch",
    "cudnn.version": "cuDNN",
    "cpu.model": "CPU",
    "os.machine": "architecture",
    "os.libc": "C library",
    "cuda.driver": "CUDA of the driver",
    "torch.cpu_capability": "CPU capability that torch uses",
    "blas.version": "BLAS",
    "onednn.version": "oneDNN",
}
PACKAGE = "package."
_PACKAGE_NAME = re.compile(r"package\.[a-z0-9](?:[a-z0-9._-]{0,98}[a-z0-9])?")
_NUMBERS = frozenset({"cudnn.version"})


def field_words(name: str) -> str:
    """A field in words: the operating system, a package by its name, else the name of the field."""
    return FIELDS.get(name) or name.removeprefix(PACKAGE)


def with_corrected_environment(reading: Reading, corrections: Sequence[tuple[str, str]]) -> Reading:
    """The reading with other values for fields of the environment. An empty value takes a field away.

    `environment_as_read` keeps what was read of the fields that changed.

    Raises InputError for a value that is too long or no number where one is needed, and for an unknown field.
    """
    if len(corrections) > MOST_CORRECTIONS:
        raise _error(f"At most {MOST_CORRECTIONS} fields of the environment can be corrected.")
    corrected = dict(reading.environment)
    for name, text in corrections:
        value = text.strip()
        if value == str(corrected.get(name, "")):
            continue
        if len(value) > MOST_CHARACTERS or not value.isprintable():
            raise _error(f"A value of the environment has at most {MOST_CHARACTERS} printable characters.")
        if name not in reading.environment and name not in FIELDS and not _PACKAGE_NAME.fullmatch(name):
            raise _error(
                f"The environment has no such field. Fields are {', '.join(FIELDS)}, and package.NAME with a"
                " name in small letters."
            )
        corrected[name] = _value(name, value, reading.environment)
        if not value:
            del corrected[name]
    before = {**reading.environment, **reading.environment_as_read}
    as_read = {
        name: before.get(name, "")
        for name in sorted({*before, *corrected})
        if before.get(name, "") != corrected.get(name, "")
    }
    return reading.model_copy(
        update={"environment": dict(sorted(corrected.items())), "environment_as_read": as_read}
    )


def corrections_in(reading: Reading) -> dict[str, str]:
    """The corrections that the submitter made: values by the names of fields, empty for one taken away."""
    return {name: str(reading.environment.get(name, "")) for name in reading.environment_as_read}


def _value(name: str, text: str, environment: Environment) -> str | int:
    if not text or not (name in _NUMBERS or isinstance(environment.get(name), int)):
        return text
    number = cudnn_number(text) if name in _NUMBERS else None
    if number is not None:
        return number
    if text.isascii() and text.isdigit():
        return int(text)
    raise _error(f"{name} is a whole number, such as 8902.")


def _error(message: str) -> InputError:
    return InputError(message, code="bad_environment", field="environment")
