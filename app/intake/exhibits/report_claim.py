"""Reads the claim of a report: the strongest evidence decides, and the rest only refines it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from app.intake.claim.claim_text import (
    MOST_LINES_OF_OUTPUT,
    lacks_its_end,
    output_check,
    read_claim,
    sides_checks,
    statements,
)
from app.intake.claim.claims import (
    MOST_READINGS,
    MOST_RIGHT_VALUES,
    Check,
    CheckKind,
    Claim,
    Role,
    Trait,
    Where,
)
from app.intake.claim.comments import comment_claim, commented_outputs
from app.intake.claim.known_messages import unnamed_error
from app.intake.claim.right_bounds import out_of_bounds
from app.intake.claim.slowness import is_of_magic, slower_label, slower_of_timed
from app.intake.claim.stated_place import newest_place, place_of_bug, with_place
from app.intake.claim.subject import about, subject_of
from app.intake.exhibits.assertions import asserted_checks, marked_assertion, own_check
from app.intake.exhibits.commented_errors import are_raised, commented_errors
from app.intake.exhibits.conditions import (
    condition_of,
    is_of_other_call,
    may_name_condition,
    names_other_program,
)
from app.intake.exhibits.inline_values import SENTENCES, inline_checks, without_other_code
from app.intake.exhibits.machines import machine_checks, repeated_runs_checks
from app.intake.exhibits.right_values import (
    PRINTED_KINDS,
    is_called_right,
    right_values,
    values_called_both,
    values_right_elsewhere,
    with_other_ways_as_right,
    without_names,
)
from app.intake.exhibits.rivals.rival_readings import (
    is_error_asked_for,
    is_failure,
    other_readings,
    with_warnings_as_bug,
    without_measured_times,
    without_outputs_before_end,
    without_right_ones,
)
from app.intake.exhibits.shown_evidence import expected_output
from app.intake.exhibits.shown_failures import failure_checks, failure_of, second_failure
from app.intake.exhibits.shown_outputs import (
    is_expectation,
    lines_of,
    only_times,
    reads_as_output,
    shown_outputs,
    tells_what_happens,
    without_words_above,
)
from app.intake.exhibits.shown_warnings import (
    fine_warnings,
    is_fine_warning,
    split_warnings,
    warning_checks,
    warnings_in,
    without_fine_warnings,
)
from app.intake.remarks.called_right import (
    checks_of_tools,
    sentences_of,
    with_what_is_right,
)
from app.intake.remarks.commented_pairs import commented_pairs, labelled_checks
from app.intake.remarks.exit_statuses import exit_status_checks
from app.intake.remarks.expected_of_expressions import value_of_expression
from app.intake.remarks.expressions import plain_with_formulas, plain_words, prints_formulas
from app.intake.remarks.lacking_errors import lacking_error
from app.intake.remarks.output_remarks import read_remarks
from app.intake.remarks.outputs_of_code import outputs_of_main, right_outputs
from app.intake.remarks.right_messages import right_of_output
from app.intake.remarks.value_tables import tabled_values
from app.intake.remarks.values_of_devices import split_devices, values_of_devices
from app.intake.remarks.values_of_versions import values_of_versions
from app.intake.sentences.builds_of_python import with_build
from app.intake.sentences.seen_below_expected import seen_below_expected
from app.intake.sentences.should_work import should_work
from app.intake.sentences.values_of_calls import values_of_calls
from app.intake.sentences.values_of_releases import values_of_releases
from app.intake.sessions.shell_sessions import REPEATED
from app.intake.sessions.timings import LABEL
from app.intake.snippets.parts import Part, PartKind
from app.intake.snippets.roles import says_it_works
from app.intake.wishes.complaints import as_whole, lacks_trait
from app.intake.wishes.effects import lacks_effect
from app.intake.wishes.facts import facts_in
from app.intake.wishes.traits import is_refused, right_traits
from app.intake.wishes.twins import lacks_agreement, lacks_change, wants_agreement
from app.intake.words.frequency_words import with_frequency
from app.intake.words.languages import in_english
from app.intake.words.other_devices import device_at_issue
from app.intake.words.praise import may_praise, praises_another_place, tells_the_past
from app.intake.words.vocabulary import device_of, shows_cuda_tensor, side_of_line

_EXPLICIT = re.compile(
    r"^(?:[^\S\n]|[>*_])*claim[\s*_]*:[\s*_]*(\S.*)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
# Parts beyond this number are not read for the claim.
MOST_PARTS = 1_000
# Short prose is also read as one text.
_MOST_JOINED = 2_000
_MOST_LINE = 400
_MOST_WARNINGS = 3
_MOST_COLONS = 2  # Prose about the environment with more of them lists values.
# So many blocks of output are read, each as what may be the bug.
_MOST_BLOCKS = 3


def claim_of(
    parts: Sequence[Part], main: str, title: str, outputs: Sequence[Part] | None = None, whole: str = ""
) -> Claim:
    """The claim of a report about its main script, with its further readings.

    It has no checks if nothing can be checked. `outputs` are those of its parts, if they are known, and
    `whole` is the script with the parts that go on with it.
    """
    parts = parts[:MOST_PARTS]
    prose = [part for part in parts if part.kind == PartKind.PROSE]
    explicit = next(
        (match[1] for part in prose for match in [_EXPLICIT.search(part.text)] if match), None
    ) or comment_claim(main)
    subject = subject_of(title, main)
    if explicit:
        return about(subject, read_claim(explicit))
    all_outputs = shown_outputs(parts) if outputs is None else outputs
    all_outputs = without_fine_warnings(all_outputs, fine := fine_warnings(parts, title))
    outputs = with_other_ways_as_right(outputs_of_main(parts, all_outputs, whole or main), main)
    relevant = [part for part in prose if not part.about_environment or part.text.count(":") <= _MOST_COLONS]
    plain = plain_with_formulas if prints_formulas(main) else plain_words
    texts = [plain(part.text) for part in relevant if not is_expectation(part)]
    titled = [in_english(title), *texts]
    should = [
        f"Expected: {line}"
        for part in relevant
        if is_expectation(part)
        for line in plain(part.text).split("\n")
        if line.strip() and not tells_what_happens(line)
    ]
    place = with_build(place_of_bug(titled), titled)
    told_text = with_frequency(title[:1000], [text for part in prose for text in (part.text, part.own_text)])
    right_parts = right_outputs(parts, all_outputs, whole or main)
    frame = with_what_is_right(Claim(text=told_text), titled, should, right_parts, main)
    sentences = sentences_of(titled, should)
    traits = right_traits(titled[0], sentences)
    traits += (Trait.AGREE,) if wants_agreement(titled[0], sentences) else ()
    values = (*frame.right_values, *facts_in(sentences))[:MOST_RIGHT_VALUES]
    frame = frame.model_copy(update={"right_traits": traits, "right_values": values})
    readings: list[Claim] = []
    contradicted = values_right_elsewhere([part.text for part in prose], titled, main)
    for checks in _readings(parts, outputs, main, titled, should):
        limited = [as_whole(_limit_to_cuda(check, main), main) for check in checks]
        right = right_values(limited, [*should, *texts], main)
        expected_texts = [part.text for part in outputs if part.expected]
        with_expected = [*limited, *(right or right_of_output(limited, expected_texts))]
        real = [check for check in without_names(with_expected, main) if not is_refused(check, traits)]
        real = with_warnings_as_bug(real)
        contradicted |= values_called_both(real)
        is_no_bug = is_called_right(real, contradicted) or is_fine_warning(real, fine)
        if not real or is_no_bug or (readings and is_error_asked_for(real, frame)):
            continue
        complete = with_place([_in_own_words(check, prose) for check in real], place)
        readings.append(about(subject, frame.model_copy(update={"checks": tuple(complete)})))
    if not readings:
        return about(subject, _of_own_check(frame, with_place(own_check(titled, main), place)))
    readings = without_measured_times(without_outputs_before_end(without_right_ones(readings), titled[0]))
    others = other_readings(readings, "\n".join(part.text for part in outputs if failure_of(part)))
    further, has_more = others[: MOST_READINGS - 1], len(others) >= MOST_READINGS
    return readings[0].model_copy(update={"further": further, "has_more": has_more})


def _of_own_check(frame: Claim, asserts: Sequence[Check]) -> Claim:
    """The claim that the script's own check fails; without one, the bare text."""
    return (frame if asserts else Claim(text=frame.text)).model_copy(update={"checks": tuple(asserts)})


def _in_own_words(check: Check, prose: Sequence[Part]) -> Check:
    """The check with the reporter's own words where the rules read them in English."""
    for part in prose:
        if part.own_text:
            for english, own in zip(part.text.split("\n"), part.own_text.split("\n"), strict=False):
                is_of_line = check.text in english or (english.strip() and english.strip() in check.text)
                if english != own and is_of_line and check.text not in own:
                    return check.model_copy(update={"text": own.strip()[:_MOST_LINE]})
    return check


def _readings(
    parts: Sequence[Part], outputs: Sequence[Part], main: str, texts: Sequence[str], should: Sequence[str]
) -> Iterator[list[Check]]:
    """The checks by each kind of evidence that the report has, the strongest kind first.

    A program prints much before it fails: below a failure, outputs count that stand in blocks of their own.
    """
    conditions = [condition_of(part.before, main) for part in outputs]
    usual = [part for part, condition in zip(outputs, conditions, strict=True) if not condition]
    prose = [part for part in parts if part.kind == PartKind.PROSE]
    own_texts = [part.text for part in prose]
    # `Expected: 3` and `Actual: 2` may be separate paragraphs.
    texts = [_about_this_place(text, main) for text in texts]
    joined = "\n".join(texts[1:])[:_MOST_JOINED]
    # These count where nothing else is read. That values should change (the sixth) counts beside a failure.
    alone: tuple[Callable[[Sequence[Part]], list[Check]], ...] = (
        lambda _: lacking_error([*texts, *should], alone=False),
        lambda _: lacking_error([*texts, *should], alone=True),
        lambda _: out_of_bounds(texts[0], sentences_of(texts, should)),
        lambda _: unnamed_error(texts) or values_of_calls(texts, should, main),
        lambda _: lacks_agreement(main, texts[0], sentences_of(texts, should)),
        lambda _: _lacks_of_all(main, texts[0], sentences_of(texts, should)),
        lambda _: should_work(texts) or seen_below_expected(_expectations(prose)),
    )
    sources: tuple[Callable[[Sequence[Part]], list[Check]], ...] = (
        lambda _: exit_status_checks(parts, list(map(lines_of, usual)), texts),
        lambda _: failure_checks(usual, prose, main),
        lambda outputs: machine_checks(outputs, texts),
        lambda outputs: repeated_runs_checks(outputs) or _told_variation(outputs, texts, joined),
        lambda outputs: _checks_of_sides(outputs, parts),
        lambda _: asserted_checks(own_texts, main),
        lambda _: marked_assertion(main) or _comment_checks(main),
        lambda _: commented_errors(main),
        lambda _: values_of_releases(own_texts, main) or inline_checks(parts, main, usual),
        lambda _: values_of_devices(texts) or values_of_versions(own_texts),
        lambda _: checks_of_tools(texts, main),
        lambda outputs: warning_checks(outputs, texts[0], [*texts, *should]),
        lambda outputs: _output_checks([part for part in outputs if not only_times(part)], main),
        lambda _: tabled_values(own_texts),
        lambda _: labelled_checks([*texts[1:], *should]),
        alone[0],
        lambda outputs: slower_of_timed(_lines_of_times(outputs, main), LABEL.findall(main), texts),
        lambda _: statements([*texts, joined]),
        lambda _: statements([*texts, joined], PRINTED_KINDS),
        lambda _: value_of_expression(texts, main),
        lambda outputs: next(filter(None, (slower_label(lines_of(part)) for part in outputs)), []),
        *(partial(_output_checks, main=main, block=block) for block in range(_MOST_BLOCKS)),
        lambda _: second_failure(usual),
        lambda _: _under_condition(outputs, conditions),
        *alone[1:],
    )
    printed, is_first, lacks_it = usual, True, alone[5]
    for read in sources:
        is_alone = read in alone and (read is not lacks_it or printed is usual)
        if (is_alone and not is_first) or not (checks := read(printed)):
            continue
        if is_first and is_failure(checks):
            printed = [part for part in usual if not (failure_of(part) or warnings_in(part))]
        is_first = False
        yield checks


def _expectations(prose: Sequence[Part]) -> list[str]:
    """All lines about what is expected, also those that say what comes instead."""
    return [line for part in prose if is_expectation(part) for line in plain_words(part.text).split("\n")]


def _lacks_of_all(main: str, title: str, sentences: Sequence[str]) -> list[Check]:
    """The check that the last printed value lacks a trait, or that all of them, or its input, are equal."""
    checks = (read(main, title, sentences) for read in (lacks_trait, lacks_change, lacks_effect))
    return next(filter(None, checks), [])


def _lines_of_times(outputs: Sequence[Part], main: str) -> list[str]:
    """The lines that may show the times of statements: those of outputs, else the comments of the script."""
    lines = [line for part in outputs for line in part.text.split("\n")]
    comments = [line.partition("#")[2] for line in main.split("\n")]
    return lines if any(map(is_of_magic, lines)) else comments


def _about_this_place(text: str, main: str) -> str:
    """The text without sentences that only say what happens elsewhere or under another condition."""
    return "\n".join(
        " ".join(
            sentence
            for sentence in SENTENCES.split(line)
            if not condition_of(sentence, main)
            and not is_of_other_call(sentence, main)
            and not praises_another_place(sentence)
            and not tells_the_past(sentence)
        )
        if may_name_condition(line) or may_praise(line)
        else SENTENCES.sub(" ", line)
        for line in without_other_code(text.split("\n"), main)
    )


def _told_variation(outputs: Sequence[Part], texts: Sequence[str], joined: str) -> list[Check]:
    """The check that runs differ, if words say so: values in a text are only examples then.

    A block of output is more than an example.
    """
    if any(part.before != REPEATED for part in outputs):
        return []
    return statements([*texts, joined], {CheckKind.VARIES})


def _under_condition(outputs: Sequence[Part], conditions: Sequence[str]) -> list[Check]:
    """The checks of outputs for other code or another setting. A "no" can't come from them.

    The output of another program is no claim about the script at all.
    """
    pairs = zip(outputs, conditions, strict=True)
    elsewhere = [part for part, condition in pairs if condition and not names_other_program(condition)]
    checks = failure_checks(elsewhere, (), "") or _output_checks(elsewhere, "")
    return with_place(checks, Where(mode="other code"))


def _limit_to_cuda(check: Check, main: str) -> Check:
    """The check, limited to CUDA where it shows a CUDA tensor and the main script uses no CUDA.

    In this case another script printed the tensor.
    """
    if (
        check.role is not Role.BUG
        or check.where.device
        or "cuda" in main
        or not shows_cuda_tensor(check.lines)
    ):
        return check
    return check.model_copy(update={"where": check.where.model_copy(update={"device": "cuda"})})


def _checks_of_sides(outputs: Sequence[Part], parts: Sequence[Part]) -> list[Check]:
    """Checks of two sides: from lines that name a device, or from two blocks, one for each device.

    Two blocks count only if one script printed both.
    """
    several = sum(part.kind == PartKind.CODE for part in parts) > 1
    line_of_device: dict[str, str] = {}
    for part in outputs:
        if part.expected:
            continue
        lines = lines_of(part)
        checks = sides_checks(lines)
        if checks:
            return checks
        device = side_of_line(part.introduction)
        if device and len(lines) == 1 and not part.transcript and not several:
            line_of_device.setdefault(device, lines[0])
    if len(line_of_device) == 2:
        return sides_checks([f"{device} {line}" for device, line in sorted(line_of_device.items())])
    return []


def _comment_checks(main: str) -> list[Check]:
    pairs = commented_pairs(main)
    wrong, right = pairs if pairs[0] else commented_outputs(main)
    if not wrong or lacks_its_end("\n".join(wrong)) or are_raised(wrong, main):
        return []
    bug = output_check(wrong)
    is_other = not set(right) <= set(wrong) or (len(right) == len(wrong) and sorted(right) != sorted(wrong))
    return [bug, output_check(right, role=Role.EXPECTED)] if is_other else [bug]


def _output_checks(outputs: Sequence[Part], main: str, block: int = 0) -> list[Check]:
    """Checks of literal output. The bug is the first block that shows any, or one further down."""
    seen: list[Check] = []
    expected: list[list[Check]] = []
    warnings: list[Check] = []
    for part in outputs:
        lines = without_words_above(lines_of(part), main)
        if not lines or len(lines) > MOST_LINES_OF_OUTPUT or not reads_as_output(part, main):
            continue
        remarks = read_remarks(lines, main)
        if part.expected or part.elsewhere or says_it_works(part.before):
            expected.append(expected_output(part, remarks.lines))
            continue
        if remarks.is_right:
            continue
        if not seen and remarks.right:
            expected.insert(0, [output_check(remarks.right, role=Role.EXPECTED)])
        device = device_of(part.introduction) or device_at_issue(part.introduction)
        where = newest_place(part.version).model_copy(update={"device": device})
        seen.append(output_check(remarks.lines).model_copy(update={"where": where}))
        warnings += split_warnings(part.text.split("\n"))[1]
    seen, reference = split_devices(seen)
    expected = expected or [reference]
    if block >= len(seen):
        return []
    others = [check for at, check in enumerate(seen[:_MOST_BLOCKS]) if at != block]
    details = [check.model_copy(update={"role": Role.DETAIL}) for check in others]
    return [seen[block], *(expected[0] if expected else ()), *details, *warnings[:_MOST_WARNINGS]]
