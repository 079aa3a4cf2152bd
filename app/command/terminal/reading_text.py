"""What was read, in a terminal: scripts with their roles, needs and repairs; where the reporter was."""

from __future__ import annotations

from collections.abc import Iterator

from app.command.terminal.plain_text import one_line, visible
from app.runs.run_object.document import ReportPart, RunDocument, ScriptPart
from app.runs.run_object.reading_notes import environment_differences, needs_in_words, repair_diff, shortened

LINE_CHARACTERS = 160
SHOWN_CHANGES = 8
PROBE_HINT = "The reporter can show what happens on their own machine: samehere probe > probe.py, which they run and paste what it prints."
SHOWN_FIELDS = 6


def scripts_read(scripts: list[ScriptPart]) -> Iterator[str]:
    """One item a script; the lines that a repair changed below it."""
    for number, script in enumerate(scripts, 1):
        lines = len(script.script.splitlines())
        needs = one_line(needs_in_words(script), most=LINE_CHARACTERS)
        codes = list(dict.fromkeys(visible(repair.code) for repair in script.repairs))
        how = f"run with repairs ({', '.join(codes)})" if codes else "run as given"
        if script.role == "part":
            how = "not run by itself"
        parts = [f"{lines} line{'' if lines == 1 else 's'}", how, *([f"needs {needs}"] if needs else [])]
        said = f"Script {number} ({visible(script.role)}): {', '.join(parts)}."
        changes = [
            one_line(line, most=LINE_CHARACTERS)
            for line in shortened(repair_diff(script), most=SHOWN_CHANGES)
        ]
        yield "\n    ".join([said, *changes])


def probe_read(report: ReportPart) -> Iterator[str]:
    """What `probe.py` saw at the reporter's."""
    probe = report.probe
    if probe is None or not probe.ran:
        return
    ended = probe.signal or (
        f"exit status {probe.exit_status}" if probe.exit_status is not None else "its end is not told"
    )
    raised = (
        ""
        if probe.exception is None
        else f", {one_line(f'{probe.exception.type}: {probe.exception.message}', most=LINE_CHARACTERS)}"
    )
    damaged = "" if probe.whole else " The paste is not whole."
    yield f"At the reporter's, by their probe.py: {visible(ended)}{raised}.{damaged}"


def place_read(run: RunDocument) -> Iterator[str]:
    """Where the reporter was, and what of it none of our machines is."""
    if not run.report.environment:
        return
    differing = environment_differences(run)
    if not run.environments:
        fields = [f"{name} {value}" for name, value in run.report.environment.items()]
        yield f"The reporter's place: {', '.join(one_line(field, most=80) for field in shortened(fields, most=SHOWN_FIELDS))}."
    elif differing:
        fields = [f"{field.name} {field.claimed} (here {', '.join(field.found[:2])})" for field in differing]
        yield f"The reporter's place was another: {', '.join(one_line(field, most=100) for field in shortened(fields, most=SHOWN_FIELDS))}."
    else:
        yield "The reporter's place is the same in all that the report names."
