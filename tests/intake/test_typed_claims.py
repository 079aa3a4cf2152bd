"""A claim as data: what `read` answers can be sent again, and what is wrong is refused with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from default_limits import read
from hypothesis import given
from hypothesis import strategies as st

from app.errors import InputError
from app.intake.claim.claim_text import read_claim
from app.intake.claim.claims import Bounds, Check, CheckKind, Claim, Over, Role, ScriptPlace, Trait, Where
from app.intake.typed.check_forms import FORMS
from app.intake.typed.claim_form import checked_json, claim_form
from app.intake.typed.typed_claim import claim_of_form, data_of_claim

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "claims.md"
REPORTS = [*ROOT.glob("demo/*.md"), *sorted((ROOT / "tests").rglob("*.md"))]
# One claim of each kind with all the fields that it can have.
FULL: dict[CheckKind, dict[str, Any]] = {
    CheckKind.EXCEPTION: {"exception_type": "RuntimeError", "message": "boom"},
    CheckKind.NO_ERROR: {"exception_type": "ValueError"},
    CheckKind.CRASH: {"signal": "SIGSEGV"},
    CheckKind.EXIT_STATUS: {"exit_status": 3},
    CheckKind.OUTPUT: {
        "lines": ("a 1", "b 2"),
        "label": "a",
        "stream": "stderr",
        "occurrence": 2,
        "random": False,
    },
    CheckKind.VALUE: {
        "number": "0.98999",
        "label": "loss",
        "position": "last",
        "tolerance": 0.5,
        "random": True,
    },
    CheckKind.OUT_OF_BOUNDS: {"label": "p", "bounds": Bounds(least=0.0, below=1.0)},
    CheckKind.LACKS: {"trait": Trait.AGREE, "among": (1, 2), "prints": 2},
    CheckKind.HANG: {"message": "futex"},
    CheckKind.OUT_OF_MEMORY: {},
    CheckKind.VARIES: {"lines": ("0.51", "0.73")},
    CheckKind.DIFFERS: {"sides": ("cpu", "cuda"), "side_lines": ("cpu 1", "")},
    CheckKind.SLOWER: {"sides": ("", "cpu"), "factor": 2.5, "over": Over.ATTEMPT},
}


def again(claim: Claim) -> Claim:
    """The claim after it was sent as the data that is answered."""
    return claim_of_form(claim_form(json.loads(json.dumps(data_of_claim(claim)))))


def affirmed(claim: Claim) -> Claim:
    """The claim as one that somebody sends: nothing in it is loose any more."""
    checks = tuple(check.model_copy(update={"loose": False}) for check in claim.checks)
    return claim.model_copy(update={"checks": checks, "further": tuple(map(affirmed, claim.further))})


def place_of(data: Any) -> str | None:
    with pytest.raises(InputError) as refused:
        claim_form(data)
    assert refused.value.field
    assert refused.value.message.startswith(refused.value.field)
    return refused.value.field


def test_every_kind_has_a_form_and_comes_back_whole() -> None:
    assert set(FORMS) == {str(kind) for kind in CheckKind} == {str(kind) for kind in FULL}
    where = Where(device="cuda", package="numpy", version=">=2.1", range="<3", os="linux", mode="other code")
    for kind, fields in FULL.items():
        bug = Check(
            text="it",
            kind=kind,
            id="a",
            where=where,
            script=ScriptPlace(number=2, digest="sha256:x"),
            at=3,
            facet="loss",
            through=(1, 2),
            **fields,
        )
        right = bug.model_copy(update={"id": None, "of": "a", "role": Role.EXPECTED})
        claim = Claim(checks=(bug, right), text="sometimes", subject="numpy")
        claim = claim.model_copy(update={"further": (Claim(checks=(bug,)),)})
        assert again(claim) == claim, kind


def test_no_field_of_a_check_is_lost() -> None:
    """A new field of a check needs its place in a form, or it would vanish on the way back."""
    names = {"type": "exception_type", "status": "exit_status"}
    in_forms = {names.get(name, name) for form in FORMS.values() for name in form.model_fields}
    # A place has its three in `at`. Whoever sends a check says that it is about the script.
    assert in_forms | {"through", "script", "loose"} == set(Check.model_fields)


@pytest.mark.parametrize("path", REPORTS, ids=lambda path: path.stem)
def test_what_is_read_from_a_report_comes_back(path: Path) -> None:
    try:
        reading = read(path.read_text())
    except (InputError, UnicodeDecodeError):
        return
    assert again(reading.claim) == affirmed(reading.claim)
    sent = json.dumps(data_of_claim(reading.claim))
    report = path.read_text()
    claimed = read(report, form="report").claim
    assert read(report, form="report", claim=sent).claim == affirmed(claimed)


SENTENCES = re.findall(r"^\| .+ \| `(\w+)` \| `([^`]+)` \|$", DOCS.read_text(), flags=re.MULTILINE)


@pytest.mark.parametrize(("kind", "words"), SENTENCES)
def test_evidence_becomes_the_kind_that_the_table_names(kind: str, words: str) -> None:
    claim = read_claim(words)
    assert claim.having(Role.BUG)[0].kind == kind
    assert again(claim) == claim


def test_the_table_names_every_kind() -> None:
    # That printed values lack a trait is no sentence alone: the script has to print them.
    assert {kind for kind, _ in SENTENCES} == {str(kind) for kind in CheckKind} - {"lacks"}


@pytest.mark.parametrize(
    ("check", "place"),
    [
        ({"kind": "output", "lines": [1]}, "lines.0"),
        ({"kind": "output", "lines": []}, ""),
        ({"kind": "output", "lines": ["a"], "number": "1"}, "number"),
        ({"kind": "value"}, "number"),
        ({"kind": "value", "number": "many"}, "number"),
        ({"kind": "value", "number": 1, "tolerance": -1}, "tolerance"),
        ({"kind": "value", "number": 1, "occurrence": 0}, "occurrence"),
        ({"kind": "value", "number": 1, "stream": "stdin"}, "stream"),
        ({"kind": "exception"}, ""),
        ({"kind": "exception", "type": "E", "at": {"line": 0}}, "at.line"),
        ({"kind": "crash", "signal": "SIGFOO"}, "signal"),
        ({"kind": "exit_status", "status": 300}, "status"),
        ({"kind": "slower", "sides": ["cpu"]}, "sides"),
        ({"kind": "slower"}, "sides"),
        ({"kind": "differs", "sides": ["a", "b"], "side_lines": ["1", "2", "3"]}, "side_lines"),
        ({"kind": "varies", "over": "attempt"}, "over"),
        ({"kind": "hang", "where": {"range": "new"}}, "where.range"),
        ({"kind": "hang", "where": {"place": "home"}}, "where.place"),
        ({"kind": "hang", "of": "b"}, "of"),
        ({"kind": "hang", "role": "expected", "of": "b"}, "of"),
        ({"kind": "hang", "id": "a"}, "id"),
        ({"kind": "hang", "id": "a b"}, "id"),
        ({"kind": "hang", "role": "guilty"}, "role"),
        ({"kind": "explodes"}, "kind"),
        ({}, "kind"),
        ("it hangs", ""),
    ],
)
def test_what_can_not_be_judged_is_refused_with_its_place(check: Any, place: str) -> None:
    data = {"checks": [{"kind": "hang", "id": "a"}, check]}
    assert place_of(data) == ".".join(filter(None, ("claim.checks.1", place)))
    further = {"checks": [], "further": [{"checks": []}, data]}
    assert place_of(further) == ".".join(filter(None, ("claim.further.1.checks.1", place)))


@pytest.mark.parametrize(
    ("at", "place"),
    [({"script": 2}, "script"), ({"line": 9}, "line"), ({"digest": "sha256:0"}, "digest")],
)
def test_a_place_that_the_script_does_not_have_is_refused(at: dict[str, Any], place: str) -> None:
    claim = json.dumps({"checks": [{"kind": "exception", "type": "ValueError", "at": at}]})
    with pytest.raises(InputError) as refused:
        read("x = 1\nraise ValueError\n", claim=claim)
    assert refused.value.field == f"claim.checks.0.at.{place}"


def test_a_place_gets_the_digest_of_its_script() -> None:
    at = {"script": 1, "line": 2}
    claim = json.dumps({"checks": [{"kind": "exception", "type": "ValueError", "at": at}]})
    reading = read("x = 1\nraise ValueError\n", claim=claim)
    [check] = reading.claim.checks
    assert check.at == 2
    assert check.script == ScriptPlace(number=1, digest=reading.scripts[0].digest)


def test_a_line_that_is_not_given_is_looked_for() -> None:
    reading = read("x = 1\nprint(x)\n", claim=json.dumps({"checks": [{"kind": "value", "number": 2}]}))
    assert reading.claim.checks[0].at == 2


def test_words_in_braces_stay_words() -> None:
    assert read("print({})\n", claim="{'a': 1}").claim.checks[0].kind is CheckKind.OUTPUT
    assert read("print({})\n", claim='{"a": 1}').claim.checks[0].kind is CheckKind.OUTPUT


def test_half_of_a_surrogate_pair_does_not_stop_a_claim_from_coming_back() -> None:
    claim = Claim(checks=(Check(text="\ud83d 1", kind=CheckKind.OUTPUT, lines=("\ud83d 1",)),))
    assert again(claim).checks[0].lines == ("\N{REPLACEMENT CHARACTER} 1",)


def test_a_version_is_one_of_the_subject() -> None:
    data = {"subject": "numpy", "checks": [{"kind": "hang", "where": {"range": ">=2"}}]}
    assert claim_of_form(claim_form(data)).checks[0].where.package == "numpy"


def test_json_that_is_none_is_refused_with_line_and_column() -> None:
    with pytest.raises(InputError, match="line 2, column 1"):
        checked_json('{"checks": \n')
    for text in ("[]", "3", '{"subject": "torch"}', "[" * 100_000):
        with pytest.raises(InputError):
            checked_json(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
CHECKS = st.builds(
    lambda kind, fields: {"kind": kind, **fields},
    st.sampled_from([*FORMS, "odd"]),
    st.dictionaries(st.sampled_from([*Check.model_fields, "type", "status"]), JSON, max_size=4),
)


@given(st.one_of(JSON, st.builds(lambda checks: {"checks": checks}, st.lists(CHECKS, max_size=3))))
def test_any_data_is_a_claim_or_refused(data: Any) -> None:
    try:
        claim = claim_of_form(claim_form(data))
    except InputError as error:
        refused = error
    else:
        assert again(claim) == claim
        return
    assert (refused.field or "").startswith("claim")
