"""A reading in a terminal: scripts with their roles, needs and repairs; the reporter's environment."""

from __future__ import annotations

from collections.abc import Iterator

from app.command.terminal.plain_text import one_line, visible
from app.runs.run_object.document import ReportPart, RunDocument, ScriptPart
from app.runs.run_object.reading_notes import environment_differences, needs_in_words, repair_diff, shorten

LINE_CHARACTERS = 160
SHOWN_CHANGES = 8
PROBE_HINT = (
    "The reporter can show what happens on their own machine: samehere probe > probe.py. "
    "They run it, and paste its output."
)
SHOWN_FIELDS = 6


def script_lines(scripts: list[ScriptPart]) -> Iterator[str]:
    """One item for each script; below it the lines that a repair changed."""
    for number, script in enumerate(scripts, 1):
        line_count = len(script.script.splitlines())
        needs = one_line(needs_in_words(script), most=LINE_CHARACTERS)
        codes = list(dict.fromkeys(visible(repair.code) for repair in script.repairs))
        how = f"run with repairs ({', '.join(codes)})" if codes else "run as given"
        if script.role == "part":
            how = "not run by itself"
        size = f"{line_count} line{'' if line_count == 1 else 's'}"
        parts = [size, how, *([f"needs {needs}"] if needs else [])]
        head = f"Script {number} ({visible(script.role)}): {', '.join(parts)}."
        changes = [
            one_line(line, most=LINE_CHARACTERS) for line in shorten(repair_diff(script), most=SHOWN_CHANGES)
        ]
        yield "\n    ".join([head, *changes])


def probe_lines(report: ReportPart) -> Iterator[str]:
    """The end of the script in the reporter's own Python, by `probe.py`."""
    probe = report.probe
    if probe is None or not probe.ran:
        return
    ending = probe.signal or (
        f"exit status {probe.exit_status}" if probe.exit_status is not None else "its end is unknown"
    )
    raised = ""
    if probe.exception is not None:
        exception = one_line(f"{probe.exception.type}: {probe.exception.message}", most=LINE_CHARACTERS)
        raised = f", {exception}"
    damage = "" if probe.whole else " The pasted block is not complete."
    yield f"On the reporter's machine, by their probe.py: {visible(ending)}{raised}.{damage}"


def environment_lines(run: RunDocument) -> Iterator[str]:
    """The environment that the report states, and where all our machines differ from it."""
    if not run.report.environment:
        return
    differing = environment_differences(run)
    if not run.environments:
        fields = [f"{name} {value}" for name, value in run.report.environment.items()]
        yield f"The reporter's environment: {_join_shortened(fields, most=80)}."
    elif differing:
        fields = [f"{field.name} {field.claimed} (here {', '.join(field.values[:2])})" for field in differing]
        yield f"The reporter's environment was different: {_join_shortened(fields, most=100)}."
    else:
        yield "Our environment matches everything that the report mentions."


def _join_shortened(fields: list[str], *, most: int) -> str:
    """A few of the fields, each of at most `most` characters."""
    return ", ".join(one_line(field, most=most) for field in shorten(fields, most=SHOWN_FIELDS))
