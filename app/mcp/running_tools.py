"""The tools about runs: submit one, look at it, explain numbers, bisect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.ids import new_id
from app.judging.dossier.document import Dossier
from app.judging.dossier.markdown import dossier_markdown
from app.mcp.arguments import BisectArguments, ExplainArguments, RunArguments, SubmitArguments
from app.mcp.reading_tools import document
from app.mcp.rest import Rest, RestError
from app.mcp.run_view import Size, run_view, word
from app.mcp.strangers_text import quote
from app.mcp.views import BisectView, ExplainView, PointView, RunView
from app.runs.run_object.bisection_document import BisectionDocument
from app.runs.run_object.document import RunDocument
from app.runs.run_object.dossier_of_run import CLAIM_NOT_SEEN
from app.states import OPEN_STATES


async def submit(rest: Rest, arguments: SubmitArguments) -> Callable[[Size], RunView]:
    """Submit a text, or plan its run. Raises RestError."""
    targets = arguments.targets
    more = {
        "preset": arguments.preset,
        "targets": None
        if targets is None
        else [one.model_dump(mode="json", exclude_none=True) for one in targets],
        "repeats": arguments.repeats,
        "source_url": arguments.source_url,
    }
    body = arguments.body() | {name: value for name, value in more.items() if value is not None}
    if arguments.plan_only:
        data = await rest.post("/runs", body, dry_run="1")
    else:
        data = await rest.post("/runs", body, key=arguments.request_key or new_id())
    run = document(RunDocument, data)
    withdraw = data.get("withdraw_url")
    link = rest.page(withdraw) if isinstance(withdraw, str) and withdraw.startswith("/") else withdraw
    url = rest.page("/" if arguments.plan_only else f"/runs/{run.id}")
    return lambda size: run_view(run, size, url=url, withdraw_url=link)


async def get_run(rest: Rest, arguments: RunArguments) -> Callable[[Size], RunView]:
    """A run, after a while if it has not ended. Raises RestError."""
    run = document(RunDocument, await rest.get(f"/runs/{arguments.run}", wait=arguments.wait_seconds))
    return lambda size: run_view(run, size, url=rest.page(f"/runs/{run.id}"))


async def explain(rest: Rest, arguments: ExplainArguments) -> Callable[[Size], ExplainView]:
    """The dossier of a report, or the start of the run that makes one. Raises RestError."""
    path = f"/reports/{arguments.report}/explain"
    if arguments.start:
        run = document(RunDocument, await rest.post(path, {}, key=new_id()))
        return lambda _: _without_dossier(run.id, rest.page(f"/runs/{run.id}"))
    dossier = document(Dossier, await rest.get(path))
    text = dossier_markdown(dossier)
    caveats = []
    if dossier.cause is None:
        caveats.append("No test showed a cause. This does not say that the numbers are right.")
    if CLAIM_NOT_SEEN in dossier.defect_sentence:
        caveats.append(CLAIM_NOT_SEEN)
    return lambda size: ExplainView(
        caveats=caveats,
        state="ready",
        run=dossier.run,
        url=rest.page(f"/reports/{arguments.report}/explain"),
        cause=word(dossier.cause),
        defect=dossier.defect,
        numbers=len(dossier.numbers) + dossier.numbers_omitted,
        dossier=quote(text, 6 * size.characters),
    )


def _without_dossier(run_id: str, url: str) -> ExplainView:
    return ExplainView(
        caveats=[
            "The traced run has only begun. Call `explain` without `start` when `get_run` says finished."
        ],
        state="running",
        run=run_id,
        url=url,
        cause=None,
        defect=None,
        numbers=0,
        dossier=None,
    )


async def bisect(rest: Rest, arguments: BisectArguments) -> Callable[[Size], BisectView]:
    """Start a bisection or look at one. Raises RestError."""
    if (arguments.report is None) == (arguments.bisection is None):
        raise RestError("Give either `report`, to start a bisection, or `bisection`, to look at one.")
    if arguments.bisection is not None:
        data = await rest.get(f"/bisections/{arguments.bisection}")
    else:
        body = {"over": arguments.over, "from": arguments.begin, "to": arguments.end}
        data = await rest.post(
            f"/reports/{arguments.report}/bisections",
            {name: value for name, value in body.items() if value is not None},
            key=arguments.request_key or new_id(),
        )
    bisection = document(BisectionDocument, data)
    return lambda size: _bisect_view(bisection, size, url=rest.page(f"/bisections/{bisection.id}"))


def _bisect_view(bisection: BisectionDocument, size: Size, *, url: str) -> BisectView:
    return BisectView(
        caveats=_caveats(bisection),
        bisection=bisection.id,
        report=bisection.report,
        url=url,
        state=bisection.state,
        axis=bisection.axis,
        kind=None if bisection.kind is None else str(bisection.kind),
        last_good=bisection.last_good,
        first_bad=bisection.first_bad,
        last_bad=bisection.last_bad,
        first_good=bisection.first_good,
        exact=bisection.exact,
        probability=bisection.probability,
        summary=bisection.summary,
        attempts=bisection.attempts,
        points=[
            PointView(value=point.value, seen=point.seen, of=point.of, inconclusive=point.untold)
            for point in bisection.points[: 3 * size.items]
        ],
    )


def _caveats(bisection: BisectionDocument) -> list[str]:
    if bisection.state in OPEN_STATES:
        return ["The bisection has not ended: every version that it names may still change."]
    caveats: list[str] = []
    has_answer: Any = bisection.first_bad or bisection.first_good
    if not has_answer:
        caveats.append(
            "No version was bisection. This does not say that it never happened or never was fixed."
        )
    elif not bisection.exact:
        caveats.append(
            "Versions between the two neighbours could not be tried, so the change lies among them."
        )
    if has_answer and bisection.one_axis is not True:
        caveats.append("More than the version may differ between the two neighbours, so it is no proof.")
    return caveats
