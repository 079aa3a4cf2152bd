"""Makes the script that is run: repairs, digest, needs."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.intake.claim.claims import Check, CheckKind, Claim, Over, Role, Trait
from app.intake.code.definitions_only import call_of, leaves_tests, only_defines, tests_of
from app.intake.code.mends.told_imports import told_statements
from app.intake.code.own_checks import asserts_equality
from app.intake.code.randomness import is_unseeded
from app.intake.code.syntax import has_common_indent, normalise, parse, tree_of
from app.intake.needs.needs import needs_of
from app.intake.reading import Need, NeedKind, Repair, Script, ScriptRole
from app.intake.snippets.calls.printed_inputs import with_printed_input
from app.intake.snippets.calls.told_arguments import line_of, told_arguments
from app.intake.snippets.calls.told_calls import told_calls
from app.intake.snippets.displayed_values import (
    with_displayed_last_assignment,
    with_displayed_last_name,
    with_displayed_last_value,
    with_displayed_values,
)
from app.intake.snippets.expected_failures import with_errors_in_passing, with_expected_failures
from app.intake.snippets.repairs import missing_imports, with_line, with_right_imports
from app.intake.snippets.rewrites import make_readable
from app.intake.snippets.shown_files import line_that_writes, repairs_of, without_shown
from app.intake.snippets.transcripts import without_magics
from app.intake.snippets.visible_cards import VARIABLE, with_visible_cards

_OUTPUT_KINDS = {
    CheckKind.OUTPUT,
    CheckKind.VALUE,
    CheckKind.VARIES,
    CheckKind.DIFFERS,
    CheckKind.OUT_OF_BOUNDS,
    CheckKind.LACKS,
}
# The last line of an output as a prompt or a notebook shows a value.
_REPRESENTATION = re.compile(
    r"\s*(?:tensor\(|array\(|[\[({<'\"]|(?:np|numpy)\.\w{1,20}\(|dtype: |[A-Z]\w{1,40}\(|[-+]?\d[\d.e+-]*$"
    r"|(?:True|False|None)$)"
)
_SHOWN_NAME = Repair(code="shown_value", detail="Made the name on the last line print what a prompt shows.")
TOLD_ARGUMENTS = "told_arguments"
_OF_SYNTAX = {"SyntaxError", "IndentationError", "TabError"}


def digest_of(script: str) -> str:
    """`sha256:` and the SHA-256 of the script."""
    return "sha256:" + hashlib.sha256(script.encode(errors="surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class RepairRules:
    """The permitted repairs. `shows`: bare expressions display their values.

    `shows_call`: so does a call on the last line of code that prints. `shows_name`: there, only a bare name.
    `shown_lines`: the number of values that the report shows, one a line.
    `packages`: those that the report is about; their public names may lack an import. `modules`: names with
    a version in the report, which may lack one, too. `submodules`: imports of modules that it names.
    `imports_in_words`: those that its prose tells.
    `files`: those that the report shows, by their paths. `words`: the report, which may tell calls.
    `failing`: the statements that fail in passing. `shows_input`: it prints what a call is given, too.
    """

    imports: bool = True
    syntax: bool = True
    shows: bool = False
    shows_call: bool = False
    shows_name: bool = False
    shown_lines: int = 0
    cards: bool = True
    packages: tuple[str, ...] = ()
    modules: frozenset[str] = frozenset()
    submodules: Mapping[str, str] = field(default_factory=dict)
    imports_in_words: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    words: str = ""
    failing: tuple[str, ...] = ()
    shows_input: bool = False


ALL_REPAIRS = RepairRules()


def repair_rules_for(claim: Claim) -> RepairRules:
    """The repairs that do not remove the claimed error. Values are displayed for claims of output."""
    types = {check.exception_type for check in claim.checks if check.kind is CheckKind.EXCEPTION}
    is_output = any(check.kind in _OUTPUT_KINDS and check.over is not Over.PAIR for check in claim.checks)
    texts = (claim.text, *(check.text for check in claim.checks))
    return RepairRules(
        # No import at the top gives a function a local value.
        imports="NameError" not in types,
        syntax=not types & _OF_SYNTAX,
        shows=is_output,
        # To show a value may be what fails.
        shows_name=bool(types),
        shows_call=any(
            len(check.lines) > 1 and _REPRESENTATION.match(check.lines[-1])
            for reading in (claim, *claim.further)
            for check in reading.having(Role.BUG)
        ),
        shown_lines=max((_shown_values(check) for check in claim.having(Role.BUG)), default=0),
        # A claim about the variable itself is tried with the reporter's value.
        cards=not any(VARIABLE in text for text in texts),
        packages=(claim.subject,) if claim.subject else (),
        shows_input=any(map(_is_of_input, claim.having(Role.BUG))),
    )


def _is_of_input(check: Check) -> bool:
    return check.trait is Trait.DISTINCT and check.among == (1, 2)


def _shown_values(check: Check) -> int:
    """The number of values that the claimed lines show, one a line; 0 if a value takes several lines."""
    are_whole = all(
        _REPRESENTATION.match(line)
        and line.count("(") == line.count(")")
        and line.count("[") == line.count("]")
        for line in check.lines
    )
    return len(check.lines) if are_whole else 0


def make_script(
    as_given: str,
    *,
    role: ScriptRole = ScriptRole.MAIN,
    rules: RepairRules = ALL_REPAIRS,
    transcript: bool = False,
) -> Script:
    """Make a script from code as given. `transcript`: the code was typed at a prompt.

    Raises InputError if it can't be parsed, unless the claim is a syntax error.
    """
    text, repairs = normalise(as_given), list[Repair]()
    if has_common_indent(as_given):
        repairs.append(Repair(code="common_indent", detail="Removed the indent that all lines have."))
    text, new_repairs = without_magics(text)
    repairs += new_repairs
    if rules.syntax:
        text, new_repairs = make_readable(text)
        repairs += new_repairs
    text, new_repairs = _with_shown_results(text, rules, transcript=transcript)
    repairs += new_repairs
    # If the claim is a syntax error, the script may have no tree, and its needs are unknown.
    tree = parse(text) if rules.syntax else tree_of(text)
    if rules.imports and tree is not None:
        text, new_repairs = _with_imports(text, tree, rules)
        repairs += new_repairs
        tree = parse(text) if new_repairs else tree
    if rules.imports and tree is not None:
        text, new_repairs = with_expected_failures(text, tree)
        repairs += new_repairs
        tree = parse(text) if new_repairs else tree
    if rules.cards and tree is not None:
        text, card_repairs = with_visible_cards(text, tree)
        repairs += card_repairs
        tree = parse(text) if card_repairs else tree
    if tree is not None:
        text, new_repairs = _with_calls_of_tests(text, tree)
        repairs += new_repairs
        tree = parse(text) if new_repairs else tree
    if rules.words and tree is not None:
        text, new_repairs = _as_told(text, tree, rules.words)
        repairs += new_repairs
        tree = parse(text) if new_repairs else tree
    if rules.files and tree is not None:
        text = with_line(text, tree, line_that_writes(rules.files))
        repairs += repairs_of(rules.files)
        tree = parse(text)
    return Script(
        role=role,
        as_given=as_given,
        script=text,
        repairs=tuple(repairs),
        digest=digest_of(text),
        needs=_needs(tree, rules, repairs) if tree else (),
        unseeded=tree is not None and is_unseeded(tree),
        asserts_equality=tree is not None and asserts_equality(tree, text),
    )


def _with_calls_of_tests(text: str, tree: ast.Module) -> tuple[str, tuple[Repair, ...]]:
    if not leaves_tests(tree) or (tests := tests_of(tree)) is None:
        return text, ()
    detail = f"Added calls of its {len(tests.names)} tests: nothing called them."
    return f"{text.rstrip()}\n\n{call_of(tests)}", (Repair(code="run_as_test", detail=detail),)


def _needs(tree: ast.Module, rules: RepairRules, repairs: Sequence[Repair]) -> tuple[Need, ...]:
    needs = without_shown(needs_of(tree), rules.files)
    has_arguments = any(repair.code == TOLD_ARGUMENTS for repair in repairs)
    return tuple(
        need for need in needs if not (has_arguments and need.kind is NeedKind.ARGUMENTS and not need.name)
    )


def _as_told(text: str, tree: ast.Module, words: str) -> tuple[str, tuple[Repair, ...]]:
    """The text with the calls, or the arguments, that the words of the report tell."""
    if only_defines(tree):
        if not (calls := told_calls(tree, words)):
            return text, ()
        detail = f"Added {len(calls)} calls as the report tells them: nothing called what the script defines."
        return f"{text.rstrip()}\n\n{chr(10).join(calls)}\n", (Repair(code="told_call", detail=detail),)
    if ("argv" not in text and "parse_" not in text) or not (arguments := told_arguments(words, text)):
        return text, ()
    detail = f"Gave it {len(arguments)} command-line arguments, as the report does."
    return with_line(text, tree, line_of(arguments)), (Repair(code=TOLD_ARGUMENTS, detail=detail),)


def _with_imports(text: str, tree: ast.Module, rules: RepairRules) -> tuple[str, tuple[Repair, ...]]:
    text, spelt = with_right_imports(text, tree)
    tree = (parse(text) if spelt else tree) or tree
    statements = told_statements(tree, rules.imports_in_words)
    if statements:
        text = with_line(text, tree, "; ".join(statements))
        tree = parse(text)
    notes = (Repair(code="missing_import", detail=f"Added: {each}", line=1) for each in statements)
    packages = (*rules.packages, *statements.values())
    text, added = missing_imports(text, tree, packages, rules.modules, rules.submodules)
    return text, (*spelt, *notes, *added)


def _with_shown_results(text: str, rules: RepairRules, *, transcript: bool) -> tuple[str, tuple[Repair, ...]]:
    """The text that goes on after errors in passing, and prints what the report shows."""
    text, passing = with_errors_in_passing(text, rules.failing)
    text, of_input = with_printed_input(text) if rules.shows_input else (text, ())
    text, displayed = _with_displayed_values(text, rules, transcript=transcript)
    return text, (*passing, *of_input, *displayed)


def _with_displayed_values(
    text: str, rules: RepairRules, *, transcript: bool
) -> tuple[str, tuple[Repair, ...]]:
    """The text with the expressions displayed whose values the report may show, and the repair."""
    count = 0
    if transcript:
        text, count = with_displayed_values(text)
    elif rules.shows:
        text, count = with_displayed_last_value(text, calls=rules.shows_call, values=rules.shown_lines)
        if not count:
            text, count = with_displayed_last_assignment(text)
    if count:
        detail = f"Made {count} expressions print what a prompt shows."
        return text, (Repair(code="shown_value", detail=detail),)
    if not transcript and rules.shows_name:
        text, count = with_displayed_last_name(text)
    return text, (_SHOWN_NAME,) if count else ()
