"""A search is parsed, or refused at the wrong character. No text raises any other error."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.judging.cause import cause
from app.judging.cause.defect import NOT_ANALYSED
from app.judging.judgement import Verdict
from app.judging.report.change import ChangeKind
from app.search.fields import CAUSES, FIELDS
from app.search.parse import MOST_CHARACTERS, MOST_TERMS, parse
from app.search.periods import Period, period
from app.search.terms import Field, Query, QueryError, Term, Words, query_text
from app.search.tokens import tokens
from app.search.toolchains import matching_toolchains, toolchain_query

MOMENT = datetime(2026, 11, 28, 15, 0, tzinfo=UTC)


def field(name: str, *values: str, negated: bool = False) -> Field:
    return Field(name=name, values=values, negated=negated)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", []),
        ("  logdet\n wrong ", [Words(text="logdet"), Words(text="wrong")]),
        ("verdict:reproduced,flaky", [field("verdict", "reproduced", "flaky")]),
        ("verdict:not-reproduced", [field("verdict", "not_reproduced")]),
        ("-verdict:flaky", [field("verdict", "flaky", negated=True)]),
        ("Verdict:Flaky -DEVICE:cpu", [field("verdict", "flaky"), field("device", "cpu", negated=True)]),
        ("Exception: Device", [Words(text="Exception:"), Words(text="Device")]),
        ("toolchain:torch>=2.1,<2.11", [field("toolchain", "torch>=2.1,<2.11")]),
        ('toolchain:"torch >= 2.11"', [field("toolchain", "torch >= 2.11")]),
        ("exception:torch.OutOfMemoryError", [field("exception", "outofmemoryerror")]),
        ("setting:deterministic", [field("setting", "deterministic=on")]),
        (
            "changed:regressed changed:last-week",
            [field("changed", "regressed"), field("changed", "last-week")],
        ),
        ('label:"needs a GPU",bug', [field("label", "needs a GPU", "bug")]),
        ('"No CUDA \\"GPUs\\" \\\\"', [Words(text='No CUDA "GPUs" \\', quoted=True)]),
        ('-"a b"', [Words(text="a b", quoted=True, negated=True)]),
        ("- -- -x", [Words(text="-"), Words(text="--"), Words(text="x", negated=True)]),
        (
            "std::vector https://x.y/z RuntimeError: boom",
            [Words(text=word) for word in ("std::vector", "https://x.y/z", "RuntimeError:", "boom")],
        ),
    ],
)
def test_a_search_is_parsed(text: str, terms: list[Term]) -> None:
    assert list(parse(text).terms) == terms


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("colour:red", 1, "there is no field colour. The fields are: verdict, device,"),
        ("logdet -colour:red", 9, "there is no field colour"),
        ("verdict:broken", 9, "verdict: takes needs_info, reproduced"),
        ("verdict:flaky,broken", 15, "verdict: takes"),
        ("verdict:", 9, "verdict: needs a value"),
        ("verdict:flaky,", 15, "a value is missing"),
        ("toolchain:torch>>2", 11, "torch>=2.11"),
        ("changed:2026-02-30", 9, "last-week"),
        ("submitted:2026-02-02..2026-02-01", 11, "2026-10-01..2026-10-31"),
        ("setting:speed=1", 9, "cpu-isa"),
        ('a "b', 3, "never closed"),
        ('a"b"', 2, "a space is missing here"),
        ('""', 1, "nothing between"),
        ("x" * (MOST_CHARACTERS + 1), MOST_CHARACTERS + 1, "at most 300 characters"),
        ("x " * (MOST_TERMS + 1), 2 * MOST_TERMS + 1, "at most 20 terms"),
    ],
)
def test_an_error_has_a_position_and_a_message(text: str, position: int, message: str) -> None:
    with pytest.raises(QueryError) as raised:
        parse(text)
    assert raised.value.position == position
    assert message in raised.value.message
    assert (raised.value.code, raised.value.field) == ("bad_query", "q")


PIECES = [
    *(f"{name}:" for name in FIELDS),
    *Verdict,
    "-",
    '"',
    "\\",
    ",",
    " ",
    "torch>=2.1",
    "2026-11-01",
    "..",
    "7d",
    "\x00",
    "ß",
    "深",
    "::",
]


@given(st.one_of(st.text(max_size=320), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_is_parsed_or_refused_and_its_canonical_spelling_parses_the_same(text: str) -> None:
    refused: QueryError | None = None
    query = Query()
    try:
        query = parse(text)
    except QueryError as error:
        refused = error
    if refused is not None:
        assert 1 <= refused.position <= len(text) + 1
        assert refused.message.startswith(f"At character {refused.position}: ")
        return
    spelling = query_text(query)
    if len(spelling) <= MOST_CHARACTERS:
        assert parse(spelling) == query
    for word in query.words():
        assert all(token and token == token.casefold() for token in tokens(word.text))


VALUES = {
    "verdict": tuple(Verdict),
    "device": ("cpu", "cuda"),
    "toolchain": ("torch>=2.1,<2.11", "torch-2.13-cpu", "torch-2.1*"),
    "setting": ("deterministic=on", "threads=1"),
    "node": ("lab-1", "a,b"),
    "exception": ("runtimeerror",),
    "label": ("needs a GPU", 'a "b"', "c\\"),
    "changed": (*ChangeKind, "last-week", ">=2026-01-01"),
}
FIELD_TERMS = st.sampled_from(sorted(VALUES)).flatmap(
    lambda name: st.builds(
        Field,
        name=st.just(name),
        values=st.lists(
            st.sampled_from(VALUES[name]), min_size=1, max_size=3 if FIELDS[name].several else 1, unique=True
        ).map(tuple),
        negated=st.booleans(),
    )
)
WORD_TERMS = st.builds(
    Words,
    text=st.text(min_size=1, max_size=9).filter(str.strip),
    quoted=st.just(value=True),
    negated=st.booleans(),
)


@given(st.lists(st.one_of(FIELD_TERMS, WORD_TERMS), max_size=5))
def test_a_spelling_parses_to_the_same_query(terms: list[Term]) -> None:
    query = Query(tuple(terms))
    if len(query_text(query)) <= MOST_CHARACTERS:
        assert parse(query_text(query)) == query


def test_every_cause_can_be_asked_for() -> None:
    assert set(CAUSES) >= {*cause._SENTENCES, NOT_ANALYSED}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", Period(datetime(2026, 11, 28, tzinfo=UTC), None)),
        ("yesterday", Period(datetime(2026, 11, 27, tzinfo=UTC), datetime(2026, 11, 28, tzinfo=UTC))),
        ("last-week", Period(datetime(2026, 11, 21, 15, tzinfo=UTC), None)),
        ("2w", Period(datetime(2026, 11, 14, 15, tzinfo=UTC), None)),
        ("2026-11-01", Period(datetime(2026, 11, 1, tzinfo=UTC), datetime(2026, 11, 2, tzinfo=UTC))),
        (">2026-11-01", Period(datetime(2026, 11, 2, tzinfo=UTC), None)),
        ("<=2026-11-01", Period(None, datetime(2026, 11, 2, tzinfo=UTC))),
        (
            "2026-10-01..2026-10-31",
            Period(datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC)),
        ),
        ("9999-12-31", None),
        ("0d", None),
        ("soon", None),
    ],
)
def test_times(text: str, expected: Period | None) -> None:
    assert period(text, moment=MOMENT) == expected


def test_toolchains_by_name_and_by_version() -> None:
    known = {
        "torch-2.9-cpu": {},
        "torch-2.13-cpu": {"torch": "2.13.1", "numpy": "2.4.6"},
        "torch-2.13-cu130": {"torch": "2.13.0+cu130", "numpy": "1.26.4"},
        "torch-2.14": {"torch": "2.14.0rc1"},
        "other": {},
    }

    def names(text: str) -> list[str]:
        wish = toolchain_query(text)
        assert wish is not None
        return matching_toolchains([wish], known)

    assert names("torch>=2.13") == ["torch-2.13-cpu", "torch-2.13-cu130", "torch-2.14"]
    assert names("torch=2.13") == names("torch==2.13.*") == ["torch-2.13-cpu", "torch-2.13-cu130"]
    assert names("torch<2.13") == ["torch-2.9-cpu"]
    assert names("torch>=2.1,<2.13") == ["torch-2.9-cpu"]
    assert names("torch>2.13.1") == ["torch-2.14"]
    assert names("NumPy<2") == ["torch-2.13-cu130"]
    assert names("torch-2.13-cpu") == ["torch-2.13-cpu"]
    assert names("torch-2.13*") == ["torch-2.13-cpu", "torch-2.13-cu130"]
    assert names("einops>1") == []


def test_words_are_pieces_of_names_and_signs_of_their_own() -> None:
    assert tokens("torch.index_put_: Größe №2, 精度 x") == [
        "torch",
        "index",
        "put",
        "größe".casefold(),
        "no2",
        "精",
        "度",
        "x",
    ]
    assert tokens("%#💥") == []
