"""Collects the code of a post, and makes scripts of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from app.intake.claim.claims import CheckKind, Claim, Role
from app.intake.code.definitions_only import definition_lines, makes_classes
from app.intake.code.mends.told_imports import told_imports
from app.intake.needs.asks import ask, asks_of
from app.intake.reading import Ask, Repair, Script, ScriptRole
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.repairs import names_with_versions, submodules_named
from app.intake.snippets.roles import (
    Code,
    about_versions_only,
    continues,
    is_aside,
    is_next_cell,
    is_not_to_be_run,
    is_numbered_source,
    missing_names,
    only_imports,
)
from app.intake.snippets.scripts import TOLD_ARGUMENTS, RepairRules, make_script, repair_rules_for

# Further pieces of code are not read.
MOST_CODES = 20
_FAILURE = re.compile(
    r"Traceback \(most recent|^[ \t]*(?:\w+\.)*[A-Z]\w*(?:Error|Exception)\b|Segmentation fault|core dumped",
    re.MULTILINE,
)
_FRAME_OF_MODULE = re.compile(r"^.{0,20}File [^\n]{1,300}, in <module>\n(?P<code>[^\n]{1,300})", re.MULTILINE)
_WITHDRAWN_CODE = re.compile(
    r"\b(?:sorry|oops|my (?:bad|mistake))\b.{0,80}\b(?:right|wrong|correct|real|actual)\b"
    r"|\b(?:posted|pasted|sent|gave) the wrong\b"
    r"|\b(?:ignore|disregard|forget) the (?:above|first|previous|other) (?:script|code|snippet|example"
    r"|one)\b",
    re.IGNORECASE | re.DOTALL,
)
_WITH_ARGUMENTS = re.compile(r"\bpython3? +[\w./-]+\.py +-{1,2}\w")


def codes_of(parts: Sequence[Part]) -> list[Code]:
    """The pieces of code that are worth a run.

    Code that its author withdraws, and code that is only to be read, are left out.
    """
    codes: list[Code] = []
    last = -1
    for at, part in enumerate(parts):
        if (
            part.kind == PartKind.CODE
            and not is_aside(part.before, part.heading)
            and not is_numbered_source(part.text)
            and not about_versions_only(part.text)
            and len(codes) < MOST_CODES
        ):
            following = parts[at + 1 : at + 3]
            below = next(
                (other.text for other in following if other.kind in {PartKind.OUTPUT, PartKind.PROSE}), ""
            )
            code = Code(
                part.text,
                part.before,
                part.transcript,
                fails_after=_FAILURE.search(below) is not None,
                failing=part.failing,
                works=part.praised,
            )
            words_between = at - last > 2 or any(
                other.kind is not PartKind.PROSE for other in parts[last + 1 : at]
            )
            is_below = last == at - 1 or (bool(codes) and not words_between and only_imports(codes[-1]))
            goes_on, last = is_below and bool(codes) and is_next_cell(codes[-1], code), at
            if goes_on:
                codes[-1] = codes[-1].followed_by(code)
            else:
                codes = [code] if _WITHDRAWN_CODE.search(part.before[-400:]) else [*codes, code]
    # The sandbox would hold, but the author does not mean this piece.
    return [code for code in codes if not is_not_to_be_run(code.before)] or codes


def joined_main(codes: Sequence[Code], roles: Sequence[ScriptRole]) -> tuple[Code, list[int]]:
    """The main piece with the parts that go on with it, and the places of the other pieces."""
    at_main = roles.index(ScriptRole.MAIN)
    main = codes[at_main]
    rest: list[int] = []
    for at, (code, role) in enumerate(zip(codes, roles, strict=True)):
        if at > at_main and role is ScriptRole.PART and continues(main, code):
            main = main.followed_by(code)
        elif at != at_main:
            rest.append(at)
    return main, rest


def scripts_of(
    codes: Sequence[Code],
    roles: Sequence[ScriptRole],
    claim: Claim,
    text: str,
    files: Mapping[str, str],
) -> tuple[Script, ...]:
    """The main script first, joined with its parts; then the others. Equal scripts are one.

    `text` is the report, and `files` are those that it shows. Raises InputError if a script can't be parsed.
    """
    modules, submodules = names_with_versions(text), submodules_named(text)
    rules = replace(
        repair_rules_for(claim),
        modules=modules,
        submodules=submodules,
        imports_in_words=told_imports(text),
        files=files,
    )
    main, rest = joined_main(codes, roles)
    others = [_script_of(codes[at], roles[at], rules) for at in rest]
    script = _script_of(main, ScriptRole.MAIN, replace(rules, words=text))
    unique: dict[str, Script] = {}
    for each in (script, *others):
        unique.setdefault(each.digest, each)
    return tuple(unique.values())


def _script_of(code: Code, role: ScriptRole, rules: RepairRules) -> Script:
    rules = replace(rules, failing=code.failing)
    script = make_script(code.text, role=role, rules=rules, transcript=code.transcript)
    if code.blocks == 1:
        return script
    note = Repair(code="joined_parts", detail=f"Joined {code.blocks} blocks of code.")
    return script.model_copy(update={"repairs": (note, *script.repairs)})


def asks_about(scripts: Sequence[Script], claim: Claim, text: str) -> tuple[Ask, ...]:
    """Questions about what the main script lacks."""
    main = scripts[0]
    asks = asks_of(scripts)
    raises = any(check.kind is CheckKind.EXCEPTION for check in claim.having(Role.BUG))
    if raises and (makes_classes(main.script) or _fails_in_definition(main.script, text)):
        # To make a class of such bases, or to decorate a function, may be what fails.
        asks = tuple(each for each in asks if each.code != "nothing_calls_it")
    if missing_names(main.script) and repair_rules_for(claim).imports:
        asks = (*asks, ask("undefined_name"))
    if (
        not any(each.code == "arguments" for each in asks)
        and "argparse" in main.script
        and not any(repair.code == TOLD_ARGUMENTS for repair in main.repairs)
        and _WITH_ARGUMENTS.search(text)
    ):
        asks = (*asks, ask("arguments"))
    return asks


def _fails_in_definition(script: str, text: str) -> bool:
    """Whether a traceback in the text fails where the script only imports or defines something."""
    quoted = {match["code"].strip() for match in _FRAME_OF_MODULE.finditer(text)}
    return bool(quoted) and not quoted.isdisjoint(definition_lines(script))
