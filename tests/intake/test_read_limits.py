"""Limits of size: a text of exactly the limit is read, one byte more is refused."""

from __future__ import annotations

import pytest

from app.errors import TooLargeError
from app.intake.read import read
from app.limits import NO_READ_LIMITS, ReadLimits
from app.settings import ServiceSettings

DEFAULT = 256 * 1024
LIMITS = [100, DEFAULT, DEFAULT + 1, 3 * DEFAULT]


def report_with(script: str) -> str:
    return f"# Title\n\n```python\n{script}```\n"


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("form", ["script", "auto"])
def test_a_script_may_be_as_large_as_the_limit(limit: int, form: str) -> None:
    limits = ReadLimits(script_bytes=limit, report_bytes=10 * DEFAULT)
    text = "#" * limit
    assert read(text, limits=limits, form=form).scripts  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match=f"The script is larger than {limit} bytes") as refused:
        read(text + "#", limits=limits, form=form)  # type: ignore[arg-type]
    assert refused.value.field == "script"


@pytest.mark.parametrize("limit", LIMITS)
def test_a_script_in_a_report_has_the_limit_of_a_script(limit: int) -> None:
    limits = ReadLimits(script_bytes=limit, report_bytes=10 * DEFAULT)
    fitting = f"x = 1{'#' * (limit - 6)}\n"
    assert len(read(report_with(fitting), limits=limits, form="report").scripts[0].script) == limit
    with pytest.raises(TooLargeError, match=f"The script in the report is larger than {limit} bytes"):
        read(report_with(fitting.replace("\n", "#\n")), limits=limits, form="report")


@pytest.mark.parametrize("limit", [100, 4 * DEFAULT, 4 * DEFAULT + 1])
@pytest.mark.parametrize("form", ["report", "auto"])
def test_a_report_may_be_as_large_as_the_limit(limit: int, form: str) -> None:
    limits = ReadLimits(script_bytes=DEFAULT, report_bytes=limit)
    text = "# Title\n\n```python\nprint(1)\n```\n\n".ljust(limit, "x")
    assert read(text, limits=limits, form=form).scripts  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match=r"is larger than \d+ bytes"):
        read(text + "x", limits=limits, form=form)  # type: ignore[arg-type]


def test_a_report_may_be_smaller_than_a_script() -> None:
    limits = ReadLimits(script_bytes=1000, report_bytes=100)
    assert read("#" * 1000, limits=limits).scripts
    with pytest.raises(TooLargeError, match="The report is larger than 100 bytes"):
        read("# Title\n\nIt is wrong. " + "x " * 100, limits=limits)


@pytest.mark.parametrize("form", ["script", "report"])
def test_a_claim_may_be_as_large_as_a_report(form: str) -> None:
    limits = ReadLimits(script_bytes=100, report_bytes=100)
    assert read("print(1)\n", limits=limits, form=form, claim="é" * 50).claim.text  # type: ignore[arg-type]
    with pytest.raises(TooLargeError, match="The claim is larger than 100 bytes") as refused:
        read("print(1)\n", limits=limits, form=form, claim="é" * 50 + "x")  # type: ignore[arg-type]
    assert refused.value.field == "claim"


def test_bytes_are_counted_and_not_characters() -> None:
    limits = ReadLimits(script_bytes=100, report_bytes=100)
    assert read("#" + "é" * 49, limits=limits).scripts
    with pytest.raises(TooLargeError):
        read("#" + "é" * 50, limits=limits)


def test_texts_of_our_own_have_no_limit() -> None:
    assert read("#" * (8 * DEFAULT), limits=NO_READ_LIMITS).scripts


def test_settings_make_the_limits() -> None:
    settings = ServiceSettings(script_bytes=3, report_bytes=4)
    assert settings.read_limits == ReadLimits(script_bytes=3, report_bytes=4)
    assert settings.read_limits.most_bytes == 4
