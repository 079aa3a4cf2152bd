"""Exhibits: the evidence of a report, each with its place in the text, its stance and its words."""

from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from default_limits import LIMITS, read
from fuzz import corpus, hostile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.errors import InputError
from app.intake.claim.claims import Role
from app.intake.exhibit import Exhibit, ExhibitKind, Stance, is_about
from app.intake.exhibits.exhibits import PostText, exhibits_of
from app.intake.exhibits.shown_outputs import shown_outputs
from app.intake.read import with_corrected_stances
from app.intake.reading import ClaimSource, Reading
from app.intake.snippets.parts import parts_of
from app.intake.text.markdown import blocks_of
from app.intake.text.thread import comments_of, thread_of
from worker.contract import MIB

BUG = """# A sum is wrong

```python
import numpy as np
print(np.array([200, 142], dtype=np.uint8).sum(dtype=np.uint8))  # 86
print(1 / 0)
```

On my machine I get:

```
86
Traceback (most recent call last):
  File "a.py", line 3, in <module>
    print(1 / 0)
ZeroDivisionError: division by zero
```

Expected:

```
342
```

With numpy 1.26 it works fine:

```
343
```
"""


def exhibits(text: str, **options: Any) -> list[Exhibit]:
    reading: Reading = read(text, form="report", **options)
    return [*reading.exhibits]


def kinds_of(text: str) -> list[tuple[str, str, str]]:
    return [(str(one.kind), one.text, str(one.stance)) for one in exhibits(text)]


def posts_of(text: str) -> dict[int, str]:
    """The submitted texts by the number of their post."""
    if thread_of(text) is None:
        return {0: text}
    issue = json.loads(text.removeprefix("\ufeff"))
    bodies = [issue, *comments_of(issue.get("comments"))]
    return dict(enumerate(str(each.get("body") or "") for each in bodies))


def points_at_its_text(text: str, reading: Reading) -> bool:
    posts = posts_of(text)
    ids = [f"e{number}" for number in range(1, len(reading.exhibits) + 1)]
    assert [each.id for each in reading.exhibits] == ids
    return all(
        each.text and posts[each.span.post][each.span.start : each.span.end] == each.text
        for each in reading.exhibits
    )


def test_every_kind_of_block_has_its_place() -> None:
    assert kinds_of(BUG) == [
        ("commented_value", "86", "actual"),
        ("output", "86", "actual"),
        (
            "traceback",
            BUG[BUG.index("Traceback") : BUG.index("division by zero") + len("division by zero")],
            "actual",
        ),
        ("output", "342", "expected"),
        ("output", "343", "elsewhere"),
    ]
    found = exhibits(BUG)
    assert [each.because for each in found[1:]] == [
        "On my machine I get:",
        "On my machine I get:",
        "Expected:",
        "With numpy 1.26 it works fine:",
    ]
    assert [each.anchor and each.anchor.line for each in found] == [2, 2, 3, None, None]
    assert {each.author for each in found} == {"reporter"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "```\n>>> 1 + 1\n3\n>>> 2 + 2\n4.5\n```",
            [("repl_value", "3", "actual"), ("repl_value", "4.5", "actual")],
        ),
        (
            "```python\nprint(sum([1]))\n```\nIt prints 86, expected 4950.",
            [("number", "86", "actual"), ("number", "4950", "expected")],
        ),
        (
            "```python\nprint(sum([1]))\n```\nIt prints `[1., nan]`, which is wrong.",
            [("inline_value", "[1., nan]", "actual")],
        ),
        (
            "```python\nx = 1\nprint(x)\n```\nThe result is different every time I run it.",
            [("relation", "The result is different every time I run it.", "actual")],
        ),
        (
            "```python\nimport os\nos.abort()\n```\n```\nSegmentation fault (core dumped)\n```",
            [("crash", "Segmentation fault (core dumped)", "actual")],
        ),
        (
            "```python\nprint(3)\n```\n> Output:\n>\n> ```\n> 3 1\n> 4 1\n> ```",
            [("output", "3 1\n> 4 1", "actual")],
        ),
        (
            "```python\nprint(3)\n```\r\nOutput:\r\n```\r\n3 1\r\n4 1\r\n```",
            [("output", "3 1\r\n4 1", "actual")],
        ),
        (
            "```python\nprint(3)\n```\nWith the last line replaced by `print(f(3))` I get\n```\n9.5\n```",
            [("output", "9.5", "elsewhere")],
        ),
    ],
)
def test_what_is_shown_is_an_exhibit(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert kinds_of(text) == expected
    assert points_at_its_text(text, read(text, form="report"))


def test_a_condition_is_named() -> None:
    text = "```python\nprint(3)\n```\nWith the last line replaced by `print(f(3))` I get\n```\n9.5\n```"
    (exhibit,) = exhibits(text)
    assert exhibit.condition is not None
    assert exhibit.condition.words == "With the last line replaced by `print(f(3))` I get"
    assert exhibit.condition.where.mode == "other code"


def test_a_thread_names_the_post_and_its_author() -> None:
    shown = "```python\nprint(1)\n```\nprints\n```\n2.5\n```"
    text = json.dumps(
        {
            "title": "t",
            "author": {"login": "Ada"},
            "body": "Sometimes wrong.",
            "comments": [
                {"author": {"login": "bob"}, "body": "Can you show it?"},
                {"author": {"login": "ada"}, "body": f"> show it?\n\n{shown}"},
            ],
        }
    )
    reading = read(text, form="report")
    assert points_at_its_text(text, reading)
    (exhibit,) = reading.exhibits
    assert (exhibit.span.post, exhibit.author, exhibit.text) == (2, "ada", "2.5")


def test_a_script_has_exhibits_too() -> None:
    text = "# Claim: prints 6, expected 7\nprint(6)  # 8\n"
    reading = read(text, form="script")
    assert [(each.text, each.stance, each.kind) for each in reading.exhibits] == [
        ("6", "actual", "number"),
        ("7", "expected", "number"),
        ("8", "actual", "commented_value"),
    ]
    assert points_at_its_text(text, reading)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=10**6))
def test_a_span_always_points_at_its_text(seed: int) -> None:
    text = hostile(random.Random(seed), corpus())[:20_000]  # noqa: S311 - chance, not secrets
    try:
        reading = read(text, form="report")
    except InputError:
        return
    assert points_at_its_text(text, reading)


def test_every_check_of_the_corpus_that_is_quoted_has_an_exhibit() -> None:
    for text in corpus():
        try:
            reading = read(text, form="report")
        except InputError:
            continue
        assert points_at_its_text(text, reading)
        for check in reading.claim.checks:
            is_quoted = any(check.text and check.text in post for post in posts_of(text).values())
            shown = any(is_about(exhibit, check) for exhibit in reading.exhibits)
            assert shown or not is_quoted, (check, text)


def corrected(reading: Reading, text: str, **stances: str) -> Reading:
    return with_corrected_stances(reading, stances, text=text, limits=LIMITS, who="ada")[0]


def roles(reading: Reading) -> list[tuple[str, str]]:
    return [(str(check.role), check.text) for check in reading.claim.checks]


def test_another_stance_is_another_claim() -> None:
    text = "```python\nprint(3)\n```\nIt prints\n```\n3 1\n```\nand\n```\n4 1\n```\n"
    reading = read(text, form="report")
    assert roles(reading) == [("bug", "3 1"), ("detail", "4 1")]
    after = corrected(reading, text, e2="actual", e1="expected")
    # The second block may be the bug as well. It leads now.
    assert roles(after) == [("bug", "4 1"), ("expected", "3 1")]
    after = corrected(after, text, e2="unclear")
    after = corrected(after, text, e2="actual")
    assert roles(after) == [("expected", "3 1"), ("bug", "4 1")]
    assert after.claim_source is ClaimSource.CORRECTED
    assert [(each.stance, each.corrected_by) for each in after.exhibits] == [
        (Stance.EXPECTED, "ada"),
        (Stance.ACTUAL, "ada"),
    ]


def test_the_next_reading_leads_when_the_first_one_is_about_another_place() -> None:
    reading = read(BUG, form="report")
    assert reading.claim.checks[0].exception_type == "ZeroDivisionError"
    after = corrected(reading, BUG, e3="elsewhere")
    assert roles(after) == [("bug", "86"), ("expected", "342")]
    assert after.claim.checks[0].role is Role.BUG
    assert not any(check.exception_type for check in after.claim.checks)


@pytest.mark.parametrize(
    ("stances", "field"),
    [
        ({"e99": "actual"}, "stances.e99"),
        ({"<b>": "actual"}, "stances.…"),
        ({"e1": "right"}, "stances.e1"),
        ({}, "stances"),
    ],
)
def test_a_stance_that_is_none_is_refused(stances: dict[str, str], field: str) -> None:
    with pytest.raises(InputError) as caught:
        corrected(read(BUG, form="report"), BUG, **stances)
    assert caught.value.field == field


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=10**6), st.data())
def test_any_stances_make_a_claim(seed: int, data: st.DataObject) -> None:
    text = random.Random(seed).choice([*corpus(), BUG])  # noqa: S311 - chance, not secrets
    try:
        reading = read(text, form="report")
    except InputError:
        return
    if not reading.exhibits:
        return
    ids = [each.id for each in reading.exhibits]
    stances = data.draw(
        st.dictionaries(st.sampled_from(ids), st.sampled_from([*map(str, Stance)]), min_size=1)
    )
    after = corrected(reading, text, **stances)
    assert {each.id: str(each.stance) for each in after.exhibits}.items() >= stances.items()
    assert [each.text for each in after.exhibits] == [each.text for each in reading.exhibits]


@pytest.mark.parametrize(
    "unit",
    [
        "It prints `3.5`, wrong.\n\n",
        "```\n>>> f(1)\n3.5\n```\n",
        "Expected:\n\n```\n1 2 3\n```\n",
        "a a a a a a a a b\n",
        "Traceback (most recent call last):\n",
        "print(1)  # 3\n",
    ],
)
def test_a_megabyte_takes_no_long_time(unit: str) -> None:
    """The blocks and the claim are those of a short report; reading those has tests of its own."""
    report = "```python\nprint(f(3))\n```\nIt prints 86, expected 4950.\n\n" + unit * 400
    outputs = shown_outputs(parts_of(blocks_of(report)))
    claim = read(report, form="report").claim
    text = unit * (MIB // len(unit)) + report
    began = time.process_time()
    found = exhibits_of([PostText(text, outputs=outputs)], claim, "print(f(3))")
    assert time.process_time() - began < 2
    assert all(text[each.span.start : each.span.end] == each.text for each in found)


def test_a_kind_is_written_as_the_design_writes_it() -> None:
    assert {"traceback", "error_line", "commented_value", "repl_value"} <= set(map(str, ExhibitKind))
