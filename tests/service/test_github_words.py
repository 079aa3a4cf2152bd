"""The pure parts of the GitHub App: commands, the list of repositories, and when a fix is shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from app.errors import SetupError
from app.judging.judgement import Verdict
from app.runs.github.check import conclude
from app.runs.github.command import Command, command_in
from app.runs.github.follow import is_flip
from app.runs.github.repositories import repositories_in
from app.runs.github.work import GithubWork
from app.runs.run_object.answer.in_markdown import plain
from app.runs.run_object.document import RunDocument
from app.settings import ServiceSettings, read_settings

MOMENT = datetime(2026, 11, 29, tzinfo=UTC)


@pytest.mark.parametrize(
    ("comment", "command"),
    [
        ("/samehere", Command(None)),
        ("/samehere preset=version", Command("version")),
        ("Please try:\n/samehere preset=cpu-isa  \nThanks!", Command("cpu-isa")),
        ("/samehere\r\n", Command(None)),
        ("/samehere\n\n/samehere", Command(None)),
        ("/samehere\n\n/samehere preset=full", None),
        ("/samehere preset=a;b", None),
        ("/samehere preset=$(id)", None),
        ("/samehere please", None),
        ("see /samehere", None),
        ("**/samehere**", None),
        ("[/samehere](https://evil.example)", None),
        ("> /samehere", None),
        ("> quoted\n/samehere", None),
        ("- /samehere", None),
        ("    /samehere", None),
        ("```\n/samehere\n```", None),
        ("~~~\n/samehere", None),
        ("`\n/samehere\n`", None),
        ("<!--\n/samehere\n-->", None),
        ("<details>\n/samehere\n</details>", None),
        ('x <b title="\n/samehere\n">', None),
        ("# /samehere", None),
        ("/samehere\u200b", None),
        ("/SAMEHERE", None),
        ("x" * 70_001 + "\n\n/samehere", None),
    ],
)
def test_only_a_line_of_its_own_is_a_command(comment: str, command: Command | None) -> None:
    assert command_in(comment) == command


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "no TOML"),
        ("x = 1", "repositories"),
        ('[repositories."no-slash"]', "no-slash"),
        ('[repositories."o/r"]\npresets = []', "presets"),
        ('[repositories."o/r"]\nrole = "read"', "role"),
        ('[repositories."o/r"]\nlabels = ["x"]', "labels"),
        ('[repositories."o/r"]\nbase = "nightly"', "belong together"),
        ('[repositories."o/r"]\nbase = "nightly"\nhead = "pr-build"', "{sha}"),
        ('[repositories."o/r"]\nbase = "night ly"\nhead = "pr-{sha}"', "base"),
        ('[repositories."o/r"]\nbase = "nightly"\nhead = "pr/{sha}"', "{sha}"),
        ('[repositories."o/r"]\nbase = "pr-{sha}"\nhead = "pr-{sha}"', "one toolchain"),
    ],
)
def test_a_list_that_is_wrong_says_where(text: str, message: str) -> None:
    with pytest.raises(SetupError, match="SAMEHERE_GITHUB_REPOSITORIES") as caught:
        repositories_in(text)
    assert message in caught.value.message


def test_the_settings_of_the_app_belong_together() -> None:
    with pytest.raises(SetupError, match="SAMEHERE_GITHUB_KEY_FILE"):
        read_settings(github_app="1", github_repositories="/x")
    assert not ServiceSettings().github_is_on


PLACE = {"cpu.model": "x", "python.version": "3.12.1", "package.octonumbers": "0.1"}


def run(
    before: dict[str, Any], after: dict[str, Any], *, head: dict[str, Any] = PLACE, **more: Any
) -> RunDocument:
    """A run of one script on a base and a head; `head` is the environment of the head."""
    target = {"device": "cpu", "gpus": 0, "settings": {}}
    attempt = {"kind": "repeat", "start": "cold", "state": "recorded"}
    jobs = [
        {
            "id": name,
            "script": "s",
            "target": {**target, "toolchain": name},
            "state": "judged",
            "attempts": [{"id": name, "environment": name, **attempt}],
            **facts,
        }
        for name, facts in (("base", before), ("head", after))
    ]
    needs = [{"kind": "package", "name": name} for name in ("octonumbers", "scipy")]
    scripts = [{"role": "main", "as_given": "", "script": "", "digest": "s", "needs": needs}]
    return RunDocument.model_validate(
        {
            "schema": 1,
            "id": "r",
            "state": "finished",
            "report": {"scripts": scripts},
            "jobs": jobs,
            "environments": {"base": PLACE, "head": head},
            "created_at": MOMENT,
            **more,
        }
    )


RARE = {"verdict": "flaky", "matched": 1, "of": 10, "rate_interval": {"low": 0.0025, "high": 0.45}}
OFTEN = {"verdict": "flaky", "matched": 9, "of": 10, "rate_interval": {"low": 0.55, "high": 0.99}}
SEEN = {"verdict": "reproduced", "matched": 3, "of": 3}
GONE = {"verdict": "not_reproduced", "matched": 0, "of": 10}


@pytest.mark.parametrize(
    ("before", "after", "conclusion"),
    [
        (SEEN, GONE, "success"),
        (SEEN, SEEN, "failure"),
        (GONE, SEEN, "failure"),
        (SEEN, RARE, "failure"),
        (GONE, GONE, "neutral"),
        (SEEN, {"verdict": "different", "of": 3}, "neutral"),
        (SEEN, {"verdict": "cannot_show"}, "neutral"),
        (SEEN, {"verdict": "no_result"}, "neutral"),
        (SEEN, {"verdict": None}, "neutral"),
        (SEEN, {"verdict": "not_reproduced", "of": 0}, "neutral"),
        ({"verdict": "cannot_show"}, GONE, "neutral"),
        # A bug that is seen once in ten attempts is not gone because ten attempts did not show it.
        (RARE, GONE, "neutral"),
        ({**RARE, "rate_interval": None}, GONE, "neutral"),
        (OFTEN, GONE, "success"),
    ],
)
def test_a_check_is_green_only_if_a_fix_is_shown(
    before: dict[str, Any], after: dict[str, Any], conclusion: str
) -> None:
    assert conclude(run(before, after), base="base", head="head")[0] == conclusion


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({"package.octonumbers": "0.2"}, None),
        # A package that the script does not import changes nothing.
        ({"package.octonumbers": "0.2", "package.rich": "15"}, None),
        ({"cpu.model": "y"}, "cpu.model"),
        ({"package.octonumbers": "0.2", "threads.torch": 8}, "threads.torch"),
        ({"package.octonumbers": "0.2", "package.scipy": "2"}, "octonumbers, scipy"),
        ({"package.octonumbers": "0.2", "python.version": "3.13.0"}, "python, octonumbers"),
    ],
)
def test_a_check_is_not_green_if_something_else_than_the_build_differs(
    head: dict[str, Any], words: str | None
) -> None:
    conclusion, reason = conclude(run(SEEN, GONE, head={**PLACE, **head}), base="base", head="head")
    assert conclusion == ("success" if words is None else "neutral")
    assert words is None or reason.endswith(f" {words}.")
    # What still happens there still happens, wherever that is.
    assert conclude(run(SEEN, SEEN, head={**PLACE, **head}), base="base", head="head")[0] == "failure"


def test_a_check_is_not_green_without_the_place_of_a_side() -> None:
    assert conclude(run(SEEN, GONE, head={}), base="base", head="head")[0] == "neutral"


def test_a_check_needs_a_script_and_both_sides() -> None:
    nothing = run(SEEN, GONE, jobs=[], verdict="needs_info")
    assert conclude(nothing, base="base", head="head")[0] == "neutral"
    assert conclude(run(SEEN, GONE), base="base", head="another")[0] == "neutral"
    # A second device that disagrees.
    both = run(SEEN, GONE)
    other = both.jobs[1].model_copy(update={"verdict": Verdict.CANNOT_SHOW})
    both = both.model_copy(update={"jobs": [*both.jobs, other]})
    assert conclude(both, base="base", head="head")[0] == "neutral"


def test_a_flip_is_between_seen_and_not_seen() -> None:
    flips = {(before, after) for before in Verdict for after in Verdict if is_flip(before, after)}
    seen = (Verdict.REPRODUCED, Verdict.FLAKY)
    assert flips == {
        pair for one in seen for pair in ((one, Verdict.NOT_REPRODUCED), (Verdict.NOT_REPRODUCED, one))
    }
    assert not is_flip(None, Verdict.REPRODUCED)


@pytest.mark.parametrize(
    "text",
    [
        "@octo",
        "fixes #1",
        "octo/x#12",
        "GH-7",
        "https://github.com/o/r/issues/1",
        "www.evil.example",
        "a@b.c",
    ],
)
def test_names_from_a_node_refer_to_nothing_on_github(text: str) -> None:
    shown = plain(text).replace("\\", "")
    for reference in ("@octo", "#1", "GH-7", "://", "www.", "@b"):
        assert reference not in shown


def test_waits_grow_and_end_after_days() -> None:
    work = GithubWork(None, ServiceSettings(), hub=object())  # type: ignore[arg-type]  # neither is used
    waits = [work._wait(tries) for tries in range(1, 12)]
    assert waits == sorted(waits)
    assert waits[0] == 10.0
    assert waits[-1] == 3600.0
    last = next(tries for tries in range(1, 200) if work._is_over(tries))
    assert sum(waits) + 3600.0 * (last - 12) == pytest.approx(3 * 86_400, abs=7200)
