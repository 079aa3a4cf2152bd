"""`samehere explain`: runs a script with its operations traced, and prints what its numbers are worth."""

from __future__ import annotations

from dataclasses import replace

from app.command.reproduce import ReproduceOptions, run_report
from app.command.service.exit_status import status_of_run
from app.command.terminal.consoles import output, print_json
from app.judging.dossier.markdown import dossier_markdown
from app.runs.run_object.dossier_of_run import dossier_of_run
from app.targets.planning.presets import EXPLAIN


def explain(options: ReproduceOptions) -> int:
    """Run the command; returns its exit status. Raises SamehereError."""
    if options.run.targets is None and options.run.preset is None:
        options = replace(options, run=replace(options.run, preset=EXPLAIN))
    document = run_report(options)
    dossier = dossier_of_run(document)
    if options.as_json:
        print_json(dossier.model_dump(mode="json"))
    else:
        output().print(dossier_markdown(dossier), markup=False, highlight=False, soft_wrap=True, end="")
    return status_of_run(state=document.state, verdict=document.verdict, seen=document.seen, as_answer=False)
