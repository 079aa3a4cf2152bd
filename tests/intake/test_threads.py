"""Threads: whose script is run, whose words are the claim, and the permitted forms of a thread."""

from __future__ import annotations

import json
from typing import Any

import pytest
from default_limits import read
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InputError, TooLargeError
from app.intake.reading import Reading
from app.intake.text.thread import MOST_COMMENTS, is_address, looks_like_report, thread_of


def script(count: int) -> str:
    return f"import torch\nx = torch.ones({count})\nprint(x.sum().item())"


def fenced(count: int) -> str:
    return f"```python\n{script(count)}\n```\n"


def said(who: str | None, body: str) -> dict[str, Any]:
    return {"author": {"login": who}, "body": body}


def issue(body: str, *comments: dict[str, Any], **more: Any) -> Reading:
    thread = {
        "title": "sum is off",
        "author": {"login": "ann"},
        "body": body,
        "comments": list(comments),
        **more,
    }
    return read(json.dumps(thread))


def main(reading: Reading) -> str:
    return reading.scripts[0].script.strip()


def claimed(reading: Reading) -> list[str]:
    return [check.text for check in reading.claim.checks if check.role == "bug"]


PRINTS_3 = "It prints:\n```\n3.0\n```\n"


def test_the_json_of_the_command_line_of_github() -> None:
    reading = issue(fenced(2) + PRINTS_3, url="https://github.com/a/b/issues/1")
    assert (reading.title, reading.source_url) == ("sum is off", "https://github.com/a/b/issues/1")
    assert (main(reading), claimed(reading), reading.ask) == (script(2), ["3.0"], ())


def test_the_json_of_rest_with_its_comments_added() -> None:
    thread = {
        "url": "https://api.github.com/repos/a/b/issues/1",
        "html_url": "https://github.com/a/b/issues/1",
        "title": "sum is off",
        "user": {"login": "ann", "type": "User"},
        "body": "See below.",
        "comments": [{"user": {"login": "Ann", "type": "User"}, "body": fenced(2) + PRINTS_3}],
    }
    reading = read(json.dumps(thread), form="report")
    assert reading.source_url == "https://github.com/a/b/issues/1"
    assert (main(reading), claimed(reading)) == (script(2), ["3.0"])


def test_names_as_plain_strings() -> None:
    reading = issue("No code here.", {"author": "@Ann", "body": fenced(2) + PRINTS_3}, author="ann")
    assert (main(reading), claimed(reading)) == (script(2), ["3.0"])


def test_what_a_volunteer_saw_is_never_the_claim() -> None:
    bob = "Can't reproduce: I get 2.0 on my machine, torch 2.5.0.\n```\n2.0\n```\n"
    reading = issue(fenced(2) + "torch 2.3.1\n\n" + PRINTS_3, said("bob", bob))
    assert claimed(reading) == ["3.0"]
    assert reading.environment["torch.version"] == "2.3.1"


def test_without_a_claim_of_the_reporter_there_is_none() -> None:
    reading = issue(fenced(2), said("bob", "On my machine it prints:\n```\n2.0\n```\n"), title="sum")
    assert (claimed(reading), reading.environment) == ([], {})


def test_a_comment_of_the_reporter_makes_the_claim_that_the_body_lacks() -> None:
    reading = issue(
        fenced(2), said("bob", "I see:\n```\n2.0\n```\n"), said("ann", PRINTS_3 + "torch 2.3.1"), title="sum"
    )
    assert claimed(reading) == ["3.0"]
    assert reading.environment["torch.version"] == "2.3.1"


def test_the_reporter_s_script_comes_before_a_volunteer_s() -> None:
    reading = issue(
        "It gives `3.0`.", said("bob", "A repro:\n" + fenced(7)), said("ann", "Sure:\n" + fenced(2))
    )
    assert main(reading) == script(2)


@pytest.mark.parametrize(
    "answer", ["Yes, exactly that one.", "Indeed! Same here.", "Your script shows it on all my machines."]
)
def test_a_volunteer_s_script_is_run_where_the_reporter_says_that_it_is_the_one(answer: str) -> None:
    with_comment = fenced(7).replace("item())", "item())  # prints 7.0, wrong")
    reading = issue(
        PRINTS_3,
        said("bob", "I made a script of it:\n" + with_comment),
        said("carl", "Nice."),
        said("ann", answer),
    )
    assert script(7) in main(reading)
    assert claimed(reading) == ["3.0"]


@pytest.mark.parametrize(
    "answer",
    ["Thanks, I'll try that.", "No, mine is another.", "Right, but it works for me.", "Is it? Yes?", None],
)
def test_what_someone_else_thinks_of_is_no_script_of_the_report(answer: str | None) -> None:
    later = [said("ann", answer)] if answer else []
    reading = issue(PRINTS_3, said("bob", "Could you run this, please?\n" + fenced(7)), *later)
    assert (reading.scripts, [ask.code for ask in reading.ask], claimed(reading)) == (
        (),
        ["no_script"],
        ["3.0"],
    )


def test_a_script_that_lacks_something_is_asked_about_also_where_someone_else_has_one() -> None:
    reading = issue(
        "```python\nprint(model(data))\n```\n" + PRINTS_3, said("bob", "Perhaps like this:\n" + fenced(7))
    )
    assert [ask.code for ask in reading.ask] == ["undefined_name"]


@pytest.mark.parametrize(
    "words", ["I can't reproduce this with\n", "This works for me:\n", "I did not see it:\n"]
)
def test_a_script_that_does_not_show_it_is_not_the_reporter_s(words: str) -> None:
    reading = issue(PRINTS_3, said("bob", words + fenced(7)), said("ann", "Yes."))
    assert (reading.scripts, [ask.code for ask in reading.ask]) == ((), ["no_script"])


@pytest.mark.parametrize(
    "who", ["github-actions[bot]", "pytorch-bot", "facebook-github-bot", "pytorchmergebot", "pytorch-probot"]
)
def test_bots_say_nothing(who: str) -> None:
    reading = issue("It is off.", said(who, "A repro:\n" + fenced(7)))
    assert [ask.code for ask in reading.ask] == ["no_script"]


@pytest.mark.parametrize(
    "more", [{"user": {"login": "x", "type": "Bot"}}, {"author": {"login": "x", "is_bot": True}}]
)
def test_a_bot_by_what_github_says_of_it(more: dict[str, Any]) -> None:
    assert issue("It is off.", {**more, "body": "A repro:\n" + fenced(7)}).scripts == ()


@pytest.mark.parametrize(
    "words",
    [
        "Sorry, here is the right script:\n",
        "Updated repro:\n",
        "Oops, I posted the wrong snippet. This one:\n",
        "Here's a minimal reproducible example that shows it.\n",
        "A self-contained example:\n",
    ],
)
def test_a_correction_replaces_the_script(words: str) -> None:
    reading = issue(
        fenced(2) + PRINTS_3, said("ann", words + fenced(4)), said("bob", "Fixed script:\n" + fenced(9))
    )
    assert (len(reading.scripts), main(reading), claimed(reading)) == (1, script(4), ["3.0"])


def test_the_last_correction_counts_with_what_it_shows() -> None:
    later = said("ann", "Sorry again, the right script:\n" + fenced(5) + "It prints:\n```\n6.0\n```\n")
    reading = issue(fenced(2) + PRINTS_3, said("ann", "Updated script:\n" + fenced(4)), later)
    assert (main(reading), claimed(reading)) == (script(5), ["6.0"])


@pytest.mark.parametrize(
    "words", ["As a workaround:\n", "Thanks, this works:\n", "Some more of my code, for context:\n"]
)
def test_other_code_of_the_reporter_replaces_nothing(words: str) -> None:
    assert main(issue(fenced(2) + PRINTS_3, said("ann", words + fenced(4)))) == script(2)


def test_quoted_lines_are_someone_else_s() -> None:
    quoted = "> It prints:\n> ```\n> 9.0\n> ```\n> " + fenced(9).replace("\n", "\n> ") + "\n\nYes, that one."
    reading = issue("Off.", said("ann", quoted), title="sum")
    assert (reading.scripts, claimed(reading)) == ((), [])


def test_a_prompt_is_no_quote() -> None:
    session = "Here it is.\n```\n>>> import torch\n>>> torch.ones(2).sum()\ntensor(3.)\n```\n"
    reading = issue("Off.", said("ann", session))
    assert "torch.ones(2).sum()" in main(reading)
    assert claimed(reading) == ["tensor(3.)"]


def test_mentions_and_agreement_claim_nothing() -> None:
    comments = [said("ann", "+1"), said("ann", "👍"), said("ann", "@bob @carl"), said("bob", "+1, 5.0 here")]
    assert claimed(issue(fenced(2), *comments, title="sum")) == []


def test_code_that_lacks_something_gives_way_to_code_that_runs() -> None:
    reading = issue(
        "```python\ny = model(data)\nprint(y)\n```\n" + PRINTS_3, said("ann", "All of it:\n" + fenced(2))
    )
    assert (main(reading), reading.ask) == (script(2), ())


def test_nobody_s_comment_is_not_the_reporter_s() -> None:
    thread = {
        "title": "sum",
        "body": fenced(2),
        "comments": [{"body": "Sorry, right script:\n" + fenced(4) + PRINTS_3}],
    }
    reading = read(json.dumps(thread))
    assert (main(reading), claimed(reading)) == (script(2), [])


def test_an_empty_body() -> None:
    assert main(issue(None, said("ann", fenced(2)))) == script(2)  # type: ignore[arg-type]
    assert [ask.code for ask in issue("").ask] == ["no_script"]


@pytest.mark.parametrize(
    ("thread", "says"),
    [
        ([{"title": "a", "body": "b"}, {"title": "c", "body": "d"}], "one of them"),
        ({"body": "b", "comments": 5}, "number of comments"),
        ({"body": "b", "comments": "none"}, "list of objects"),
        ({"body": "b", "comments": ["none"]}, "list of objects"),
        ({"body": "b", "comments": [{"body": 5}]}, "list of objects"),
        ({"body": "b", "comments": True}, "list of objects"),
        ({"body": "b", "comments": [{"author": "bob"}]}, "list of objects"),
        ({"body": "b", "comments": [{"body": "c", "author": ["bob"]}]}, "`author` is a name"),
        ({"body": "b", "user": 5}, "`user` is a name"),
        ({"body": "b", "url": 5}, "`url` is text"),
        ({"body": 5}, "`body` is text"),
        ({"body": "b", "title": []}, "`title` is text"),
    ],
)
def test_what_is_no_thread_is_refused_with_what_to_do(thread: Any, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read(json.dumps(thread))
    assert caught.value.code == "bad_thread"


def test_no_comments_in_any_spelling() -> None:
    for comments in (0, None, []):
        assert main(read(json.dumps({"title": "t", "body": fenced(2), "comments": comments}))) == script(2)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        "{'body': 1}",
        '{"body": "x"',
        "[1, 2]",
        "[]",
        "{}",
        "[" * 100_000,
        '{"body":' + "1" * 5_000 + "}",
    ],
)
def test_what_is_no_json_of_an_issue_is_read_as_before(text: str) -> None:
    assert thread_of(text) is None
    assert not looks_like_report(text)


def test_a_script_is_no_thread_where_it_is_said_to_be_one() -> None:
    text = '{"body": "x"}'
    assert looks_like_report(text)
    assert read(text, form="script").scripts[0].script.strip() == text


def test_the_whole_thread_counts() -> None:
    with pytest.raises(TooLargeError):
        issue("short", said("bob", "x" * 1024 * 1024))


def test_characters_that_cannot_be_kept_are_replaced() -> None:
    reading = read('{"title": "a\\u0000b\\ud800", "body": "```python\\nprint(\'\\u0000\\udfff\')\\n```"}')
    for text in (reading.title, main(reading)):
        assert "\0" not in text
        text.encode()


def test_only_the_first_comments_are_read() -> None:
    reading = issue("Off.", *[said("bob", "hm")] * MOST_COMMENTS, said("ann", fenced(2)))
    assert reading.scripts == ()


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://", "https://a b", "http://[", "x" * 3000, "https://a/\n", "", None],
)
def test_an_address_that_is_none(url: Any) -> None:
    assert issue("Off.", url=url).source_url is None
    assert not isinstance(url, str) or not is_address(url)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
WHO = st.sampled_from(["ann", "bob", "x-bot", "", None, 5, {"login": "ann"}, {"login": 5}, []])
POST = st.fixed_dictionaries(
    {}, optional={"author": WHO, "user": WHO, "body": st.text(max_size=80) | st.just(fenced(2)) | JSON}
)


@given(
    st.fixed_dictionaries(
        {"body": st.text(max_size=80) | JSON},
        optional={"title": JSON, "author": WHO, "comments": st.lists(POST) | JSON},
    )
)
def test_any_json_is_read_or_refused(thread: dict[str, Any]) -> None:
    try:
        reading = read(json.dumps(thread))
    except InputError as error:
        refused = error
    else:
        assert reading.scripts or reading.ask
        return
    assert refused.code == "bad_thread"


def test_scripts_are_not_looked_for_without_end() -> None:
    lacking = said("ann", "```python\nprint(model(data))\n```\n")
    assert main(issue("Off.", *[lacking] * 10, said("ann", fenced(2)))) == script(2)
    assert issue("Off.", *[lacking] * 100, said("ann", fenced(2))).scripts == ()
