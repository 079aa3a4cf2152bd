"""The output of `probe.py` in a report, however it was pasted. Damage is stated, and nothing is guessed."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable

import pytest
from default_limits import read

from app.intake.claim.claims import CheckKind, Role
from app.intake.probe_output import ReportersProbe, without_probes
from app.intake.reading import Reading

BLOCK = r"""```samehere-probe
samehere-probe 1
environment cpu.cores = 8
environment cpu.flags = ["avx2", "fma"]
environment cpu.model = "Apple M2 Pro"
environment os.name = "macOS 14.5"
environment package.numpy = "2.1.0"
environment torch.mkl = false
environment torch.version = "2.9.1"
outcome exit_status = 1
outcome signal = null
outcome exception.type = "torch.linalg.LinAlgError"
outcome exception.message = "linalg.inv: \u201csingular\u201d \u003cmatrix\u003e"
outcome wall_seconds = 1.5
outcome devices_used = ["cpu"]
outcome stdout_whole = true
stdout 1 = "loss 0.125"
outcome stderr_whole = true
stderr 1 = "Traceback (most recent call last):"
stderr 2 = "torch.linalg.LinAlgError: linalg.inv: \u201csingular\u201d \u003cmatrix\u003e"
value 1 = {"data": "AAAAAAAA+D8=", "device": "cpu", "digest": "sha256:e163f8cb0f7067a7fc78ca859a77f849aea3214f38fb75b884e4a16be725c905", "dtype": "float", "name": "x", "of": "number", "origin": "final", "shape": [], "statistics": {"greatest": 1.5, "least": 1.5, "mean": 1.5, "nan": 0, "negative_infinite": 0, "positive_infinite": 0, "zero": 0}}
end 19
```
"""  # noqa: E501
SCRIPT = "```python\nimport torch\nprint('loss', 0.125)\ntorch.linalg.inv(torch.zeros(2, 2))\n```\n"


def report(block: str, words: str = "Please look at this.", *, after: str = "") -> Reading:
    return read(f"# inv\n\n{words}\n\n{SCRIPT}\n{block}\n{after}", form="report")


def probe_in(reading: Reading) -> ReportersProbe:
    assert reading.probe is not None
    return reading.probe


def inside(block: str) -> list[str]:
    return block.strip().split("\n")[1:-1]


def test_it_is_the_reporters_place_and_exact() -> None:
    reading = report(BLOCK, "It happens with torch 2.3.0 on Windows 10 with numpy 1.26.0 and CUDA 12.1.")
    assert reading.environment["torch.version"] == "2.9.1"
    assert reading.environment["os.name"] == "macOS 14.5"
    assert reading.environment["package.numpy"] == "2.1.0"
    assert (
        reading.environment["cpu.cores"],
        reading.environment["cpu.flags"],
        reading.environment["torch.mkl"],
    ) == (
        8,
        ["avx2", "fma"],
        False,
    )
    # The words state the fields that the probe does not.
    assert reading.environment["torch.cuda_build"] == "12.1"


def test_what_it_shows_is_the_claim_where_the_words_hold_none() -> None:
    reading = report(BLOCK)
    probe = probe_in(reading)
    assert probe.whole
    assert (probe.exit_status, probe.stdout, probe.wall_seconds, probe.devices_used) == (
        1,
        "loss 0.125\n",
        1.5,
        ("cpu",),
    )
    assert [(value.name, value.dtype, value.kind) for value in probe.values] == [("x", "float", "number")]
    [check] = reading.claim.checks
    assert (check.kind, check.role, check.exception_type) == (CheckKind.EXCEPTION, Role.BUG, "LinAlgError")
    assert check.message == "linalg.inv: “singular” <matrix>"
    assert (len(reading.scripts), reading.ask) == (1, ())


def test_the_reporters_own_words_go_before_it() -> None:
    reading = report(BLOCK, "It prints `loss 7`, but I expected `loss 8`.")
    assert [check.kind for check in reading.claim.checks if check.role is Role.BUG] == [CheckKind.OUTPUT]
    assert "loss 7" in reading.claim.checks[0].text
    said = read(f"{SCRIPT}\n{BLOCK}", form="report", claim="ValueError: other")
    assert [check.exception_type for check in said.claim.checks] == ["ValueError"]


def with_outcome(*lines: str) -> str:
    records = [line for line in inside(BLOCK) if line.startswith(("samehere", "environment"))] + list(lines)
    return "\n".join(["```samehere-probe", *records, f"end {len(records) - 1}", "```"])


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        (["outcome exit_status = null", 'outcome signal = "SIGSEGV"'], CheckKind.CRASH),
        (["outcome exit_status = 7", "outcome signal = null"], CheckKind.EXIT_STATUS),
        (
            ["outcome exit_status = 0", "outcome stdout_whole = true", 'stdout 1 = "loss nan"'],
            CheckKind.OUTPUT,
        ),
        (["outcome exit_status = 0", "outcome stdout_whole = false", 'stdout 1 = "loss nan"'], None),
        (["outcome exit_status = 0", "outcome stdout_whole = true"], None),
        (["outcome exit_status = null", 'outcome signal = "SIGKILL"'], None),
        ([], None),
    ],
)
def test_each_end_is_a_claim_of_its_kind_or_none(lines: list[str], kind: CheckKind | None) -> None:
    reading = report(with_outcome(*lines))
    assert probe_in(reading).whole
    assert [check.kind for check in reading.claim.checks] == ([] if kind is None else [kind])


def test_what_a_volunteer_saw_is_no_claim_and_no_place_of_the_reporters() -> None:
    thread = {
        "title": "inv",
        "body": SCRIPT,
        "author": "ada",
        "comments": [{"author": "eve", "body": BLOCK.replace("2.9.1", "1.0.0")}],
    }
    import json

    other = read(json.dumps(thread))
    assert (other.probe, other.environment, other.claim.checks) == (None, {}, ())
    thread["comments"] = [{"author": "ada", "body": BLOCK}]
    own = read(json.dumps(thread))
    assert (probe_in(own).whole, own.environment["torch.version"]) == (True, "2.9.1")
    assert own.claim.checks[0].kind is CheckKind.EXCEPTION


def entities(text: str) -> str:
    return text.replace('"', "&quot;")


def smart(text: str) -> str:
    """The text after a word processor: with opening and closing quotation marks."""
    out, is_open = [], False
    for sign in text:
        out.append(("“" if not is_open else "”") if sign == '"' else sign)
        is_open ^= sign == '"'
    return "".join(out)


def wrapped(text: str) -> str:
    """The text after a mail program, which breaks lines at spaces."""
    return "\n".join(
        "\n".join(textwrap.wrap(line, 76, break_long_words=False, break_on_hyphens=False))
        for line in text.split("\n")
    )


HARMLESS: dict[str, Callable[[str], str]] = {
    "carriage returns": lambda text: text.replace("\n", "\r\n"),
    "quoted": lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
    "quoted twice": lambda text: "".join(f"> > {line}\n" for line in text.split("\n")),
    "quoted without a blank": lambda text: "".join(f">{line}\n" for line in text.split("\n")),
    "indented by four": lambda text: textwrap.indent(text, "    "),
    "indented without the fence": lambda text: textwrap.indent("\n".join(inside(text)), "    "),
    "without the fence": lambda text: "\n".join(inside(text)),
    "in another fence": lambda text: text.replace("```samehere-probe", "```text"),
    "in a fence of tildes": lambda text: text.replace("```samehere-probe", "~~~").replace("```", "~~~"),
    "smart quotes": smart,
    "blanks that do not break": lambda text: text.replace(" ", "\xa0"),
    "blank lines in between": lambda text: text.replace("\n", "\n\n"),
    "entities": entities,
    "broken lines": wrapped,
    "trailing blanks": lambda text: text.replace("\n", "   \n"),
    "with the words above": lambda text: (
        "Looking at this machine\n-----\nWhat follows is for the report\n-----\n\n" + text
    ),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_how_it_was_pasted_means_nothing(name: str) -> None:
    reading = report(HARMLESS[name](BLOCK), after="\nThanks for looking.\n")
    whole = probe_in(report(BLOCK))
    found = probe_in(reading)
    assert found == whole
    assert len(reading.scripts) == 1
    assert reading.claim.checks[0].exception_type == "LinAlgError"


@pytest.mark.parametrize("lines", range(2, 21))
def test_of_one_that_is_cut_the_rest_is_taken_and_said_to_be_a_rest(lines: int) -> None:
    cut = "\n".join(BLOCK.split("\n")[:lines]) + "\nenvironment torch.ver"
    reading = report(cut)
    found = probe_in(reading)
    assert not found.whole
    assert not found.stdout_whole
    assert len(reading.scripts) == 1
    # Half a line is no line.
    assert "torch.ver" not in found.environment


def test_a_line_that_is_damaged_costs_no_other() -> None:
    broken = BLOCK.replace('environment cpu.model = "Apple M2 Pro"', 'environment cpu.model = "Apple M2 ...')
    found = probe_in(report(broken))
    assert not found.whole
    assert "cpu.model" not in found.environment
    assert (found.environment["torch.version"], found.exit_status) == ("2.9.1", 1)


def test_what_stands_around_it_is_read_as_before() -> None:
    before, probe = without_probes(f"One.\n\n{BLOCK}\nTwo `x`.\n")
    assert probe is not None
    assert before.split() == ["One.", "Two", "`x`."]
    assert without_probes("no such thing") == ("no such thing", None)
    mentioned = "I ran it and saw samehere-probe 1 in a line of mine."
    assert without_probes(mentioned) == (mentioned, None)


def test_the_last_whole_one_counts() -> None:
    later = BLOCK.replace("2.9.1", "2.9.2")
    cut = "\n".join(later.replace("2.9.2", "2.9.3").split("\n")[:12])
    _, probe = without_probes(f"{BLOCK}\n{later}\n\nand\n\n{cut}")
    assert probe is not None
    assert probe.environment["torch.version"] == "2.9.2"


def test_one_of_a_later_version_is_left_out_and_not_misread() -> None:
    rest, probe = without_probes(BLOCK.replace("samehere-probe 1", "samehere-probe 2"))
    assert (probe, "environment" in rest) == (None, False)


HOSTILE = [
    "environment x = [[[[[[1]]]]]]",
    "environment x = 1e999",
    "environment x = NaN",
    f"environment x = {'9' * 5000}",
    f'environment x = "{"a" * 100_000}"',
    "environment __proto__ = 1",
    'outcome exit_status = "1"',
    'outcome exception.type = "<b>x</b>"',
    "outcome devices_used = {}",
    "outcome wall_seconds = -1",
    'outcome signal = "SIG\\u0000"',
    'stdout 1 = "a\\u0000b\\ud800"',
    'value 1 = {"of": "tensor"}',
    'value 1 = {"of": [], "name": {}, "dtype": 1}',
    "value 1 = " + "[" * 5000,
    "end 99999999",
]


@pytest.mark.parametrize("line", HOSTILE)
def test_nothing_in_it_is_trusted(line: str) -> None:
    reading = report(with_outcome(line, "outcome exit_status = 3"))
    text = probe_in(reading).model_dump_json()
    assert "\\u0000" not in text
    assert "<b>" not in text
    assert len(text) < 10_000
    assert len(reading.scripts) == 1


def test_whatever_is_done_to_it_reading_raises_nothing() -> None:
    rng = random.Random(3)  # noqa: S311
    for _ in range(150):
        text = BLOCK
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(text))
            text = rng.choice(
                (
                    text[:at] + text[at + rng.randrange(40) :],
                    text[:at] + rng.choice('\n`"> =\x00“') + text[at:],
                    text[:at],
                )
            )
        assert len(report(text).scripts) <= 2


def test_many_of_them_cost_no_more_than_their_length() -> None:
    import time

    began = time.process_time()
    without_probes(("```samehere-probe\nsamehere-probe 1\n" + 'environment x = "\n' * 20) * 5_000)
    without_probes("samehere-probe 1\n" * 50_000)
    assert time.process_time() - began < 10
