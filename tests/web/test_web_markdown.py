"""Markdown for an issue: what strangers wrote stands in fences that nothing in it can end; the rest is
words of ours.
"""

from __future__ import annotations

import pytest
from hostile_web import EVIL, Hostile
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from recorded_runs import recording

from app.judging.cause.trace_verdict import trace_sentences
from app.judging.judgement import Verdict
from app.runs.run_object.answer.sentences import answer_of
from app.runs.run_object.document import ContrastPart, FacetPart, RunDocument
from app.web.views.markdown_copy import fence, is_plain, run_markdown
from worker.contract import Trace

NASTY = "```\n@someone closes #1\n~~~~\n`````\n<img src=x>\n[link](https://evil.example)"


def recorded(name: str) -> RunDocument:
    run = RunDocument.model_validate(recording(name) | {"report": {**recording(name)["report"]}})
    return run.model_copy(update={"answer": answer_of(run)})


@given(st.text(st.one_of(st.characters(), st.sampled_from("`~\n\r #@")), max_size=80))
@example(NASTY)
@example("`" * 40)
@example("a\r```\rb")
def test_nothing_ends_a_fence_but_its_end(text: str) -> None:
    blocks = MarkdownIt().parse(f"before\n\n{fence(text)}\n\nafter")
    assert [block.type for block in blocks if block.type in {"fence", "paragraph_open"}] == [
        "paragraph_open",
        "fence",
        "paragraph_open",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "@someone",
        "see @ someone",
        "https://x.example",
        "a_b",
        "#12",
        "`x`",
        "<b>",
        "[x](y)",
        "a|b",
        "\n",
        "www.x.example",
        "(@someone)",
        "so.@someone",
        "*@some-one*",
        "Fixes GH-12",
    ],
)
def test_what_means_something_in_markdown_is_not_plain(text: str) -> None:
    assert is_plain(text) == (text == "see @ someone")


def test_what_is_hostile_stands_in_fences_only(hostile: Hostile) -> None:
    for name in ("run", "report", "contributed"):
        answer = hostile.client.get(f"{hostile.paths[name]}.md")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "text/markdown; charset=utf-8"
        outside = [
            token.content for token in MarkdownIt("commonmark").parse(answer.text) if token.type == "inline"
        ]
        assert "script" not in " ".join(outside).replace("a script that repeats", "")
        assert EVIL[:9] not in "".join(outside)
        assert not {"\x1b", "\u202e"} & set(answer.text)


def test_a_trace_is_told_as_on_the_page_and_in_a_fence() -> None:
    run = recorded("logdet_cpu_isa")
    assert "operations" not in run_markdown(run, address="http://here")
    trace = Trace(operations_seen=9, pairs=6, asked=6, whole=True, answered=5)
    traced = run.model_copy(
        update={"jobs": [job.model_copy(update={"trace": trace}) for job in run.jobs[:5]]}
    )
    text = run_markdown(traced, address="http://here")
    assert "The operations show:" in text
    [fence] = [
        block.content
        for block in MarkdownIt().parse(text)
        if block.type == "fence" and "ran on the CPU" in block.content
    ]
    assert all(f"- {sentence}" in fence for sentence in trace_sentences(trace))
    assert "… and 2 more traced cells." in fence
    assert "ran on the CPU" not in "".join(
        block.content for block in MarkdownIt().parse(text) if block.type == "inline"
    )


def test_it_is_one_minute_long_and_says_what_counts() -> None:
    text = run_markdown(recorded("logdet_cpu_isa"), address="http://here/runs/1")
    assert text.startswith(
        "- **What:** It happens, as reported.\n"
        "- **Where:** Seen on NVIDIA H200 with torch 2.11.0 (cpu-isa=sse4.2 or cpu-isa=compatible). "
        "Not with the default settings or cpu-isa=avx2.\n"
        "- **How sure:** 6 of 6 attempts in 2 places, elsewhere 0 of 6 in 2. It happens in at least 27 % of "
        "attempts, elsewhere in at most 63 %.\n"
        "- **Whose:** Open: it is not decided whether this is a bug.\n\n"
        "Environment:\n\n```\n"
    )
    for line in (
        "GPU: NVIDIA H200, driver 580.159.04, CUDA 13.0",
        "OS: Ubuntu 24.04.3 LTS, kernel 6.18",
        "Python: 3.12.3",
        "Packages: torch 2.11.0+cu130, numpy ",
    ):
        assert f"\n{line}" in text
    assert "| `cuda@torch-2.11-cuda:cpu-isa=sse4.2` | reproduced | 3 of 3 |" in text
    assert "blas.path: mkl:" in text
    assert "samehere reproduce FILE --target cuda@torch-2.11-cuda:cpu-isa=sse4.2" in text
    assert text.rstrip().endswith("http://here/runs/1")
    assert len(text.split()) < 250


@pytest.mark.parametrize(
    ("contrast", "sentence"),
    [
        ({"kind": "target", "target": "cpu"}, "It does not happen on `cpu`."),
        ({"kind": "control", "target": "cpu"}, "The report's own control does not show it on `cpu`."),
        (
            {"kind": "none"},
            "No place is known to be free of it, so nothing shows yet what it depends on.",
        ),
    ],
)
def test_the_contrast_and_its_absence_are_named(contrast: dict[str, str], sentence: str) -> None:
    run = recorded("logdet_cpu_isa")
    with_contrast = run.model_copy(update={"contrast": ContrastPart.model_validate(contrast)})
    assert sentence in run_markdown(with_contrast, address="x")
    assert sentence not in run_markdown(run.model_copy(update={"contrast": None}), address="x")


def test_each_of_several_claims_has_a_line() -> None:
    facets = [
        FacetPart(name="loss", verdict=Verdict.NOT_REPRODUCED),
        FacetPart(name="`b", verdict=Verdict.FLAKY),
    ]
    text = run_markdown(recorded("logdet_cpu_isa").model_copy(update={"facets": facets}), address="x")
    assert "- Claim `loss`: not reproduced\n- Claim …: flaky" in text


def test_a_huge_run_stays_short() -> None:
    run = recorded("logdet_cpu_isa")
    many = run.model_copy(update={"jobs": [job for job in run.jobs for _ in range(50)]})
    assert "and 388 more targets" in run_markdown(many, address="x")
    assert len(run_markdown(many, address="x")) < 4_000
