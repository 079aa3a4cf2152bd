"""The tools: their names, what each says of itself, and what each does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from app.mcp import arguments as inputs
from app.mcp import reading_tools, running_tools
from app.mcp.rest import Rest, RestError
from app.mcp.run_view import Size
from app.mcp.strangers_text import NOTICE
from app.mcp.views import (
    BisectView,
    CompareView,
    ExplainView,
    GateView,
    ReadView,
    Result,
    RunView,
    SearchView,
)

# From the most that is shown to the least. The first that fits is taken.
SIZES = (Size(2000, 20), Size(600, 12), Size(200, 8), Size(80, 4), Size(40, 2), Size(0, 1))
INSTRUCTIONS = (
    "samehere runs the script of a bug report on real machines, many times, and says whether it"
    " happens, where, how often and since when. Read a report with `read_report`, run it with"
    " `submit`, wait with `get_run`. A verdict needs a run that has ended. Only `not_reproduced`"
    " means that it was tried and not seen; `cannot_show`, `needs_info`, `no_result`, `observed`"
    f" and `different` do not. Before an issue is closed, ask `gate`. {NOTICE}"
)
Build = Callable[[Size], Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool. `call` sends its requests, and answers how to build the result in a given size."""

    name: str
    description: str
    arguments: type[inputs.Arguments]
    result: type[Result]
    call: Callable[[Rest, Any], Awaitable[Build]]
    reads_only: bool


TOOLS = (
    Tool(
        name="read_report",
        description=(
            "Read a bug report or a script without running it: its scripts, its claim as data, the"
            " environment that it states, and what is missing. Mend the claim and pass it to `submit`."
        ),
        arguments=inputs.ReadArguments,
        result=ReadView,
        call=reading_tools.read_report,
        reads_only=True,
    ),
    Tool(
        name="submit",
        description=(
            "Run a bug report or a script on the service's machines. The text becomes public there. The"
            " answer is the run as planned: wait for its end with `get_run`. If the report lacks"
            " something, nothing is run and `ask` says what to ask for."
        ),
        arguments=inputs.SubmitArguments,
        result=RunView,
        call=running_tools.submit,
        reads_only=False,
    ),
    Tool(
        name="get_run",
        description=(
            "Look at a run: its verdict, where it was seen, how often, the cause, and each cell. With"
            f" `wait_seconds`, wait up to {inputs.MOST_WAIT_SECONDS} seconds for its end; call it again"
            " while `verdict` is null."
        ),
        arguments=inputs.RunArguments,
        result=RunView,
        call=running_tools.get_run,
        reads_only=True,
    ),
    Tool(
        name="explain",
        description=(
            "Explain the numbers of a report: defect or rounding, which side is right, and where the"
            " distance begins. `start` begins a traced run; call it without `start` until the dossier is"
            " ready."
        ),
        arguments=inputs.ExplainArguments,
        result=ExplainView,
        call=running_tools.explain,
        reads_only=False,
    ),
    Tool(
        name="compare",
        description=(
            "Compare two recorded attempts: output, captured values and environments. `get_run` names an"
            " attempt of each cell."
        ),
        arguments=inputs.CompareArguments,
        result=CompareView,
        call=reading_tools.compare,
        reads_only=True,
    ),
    Tool(
        name="bisect",
        description=(
            "Find the version (or number of threads, or CPU path) since which a report happens, or in"
            " which it was fixed. Give `report` to start, then `bisection` to look at it until its state"
            " is `finished`."
        ),
        arguments=inputs.BisectArguments,
        result=BisectView,
        call=running_tools.bisect,
        reads_only=False,
    ),
    Tool(
        name="search",
        description=(
            "Search the history of reports by words and fields, newest first. Search before you submit:"
            " the issue may have been run already."
        ),
        arguments=inputs.SearchArguments,
        result=SearchView,
        call=reading_tools.search,
        reads_only=True,
    ),
    Tool(
        name="gate",
        description=(
            "Ask whether issues may be closed. Each still happens, is fixed in a version, cannot be"
            " shown here, or is unknown here. Close only where `may_close` is true. Nothing is run."
        ),
        arguments=inputs.GateArguments,
        result=GateView,
        call=reading_tools.gate,
        reads_only=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a call: for programs, and as texts for a model. Without `result` it failed."""

    texts: tuple[str, ...]
    result: Result | None = None


async def call(name: str, arguments: dict[str, Any], rest: Rest, *, most_bytes: int) -> Answer:
    """Call a tool. The texts and the JSON of the result have at most `most_bytes` each."""
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        return Answer((f"There is no such tool. The tools are {', '.join(one.name for one in TOOLS)}.",))
    try:
        checked = tool.arguments.model_validate(arguments)
        build = await tool.call(rest, checked)
    except ValidationError as error:
        return Answer((_wrong_arguments(error),))
    except RestError as error:
        return Answer((str(error),))
    return _fitting(build, most_bytes)


def _fitting(build: Build, most_bytes: int) -> Answer:
    """The largest result that fits. The smallest one is taken in any case: it holds little but our words."""
    for place, size in enumerate(SIZES):
        result = build(size)
        if place:
            result = result.model_copy(update={"shortened": True})
        answer = Answer(_texts(result), result)
        if sum(len(text.encode()) for text in answer.texts) <= most_bytes:
            break
    return answer


def _texts(result: Result) -> tuple[str, str]:
    """First our own words with every caveat, then the JSON of the result."""
    words = getattr(result, "summary", "")
    answer = result.answer if isinstance(result, RunView) else None
    if isinstance(result, ExplainView) and result.dossier is not None:
        words = f"Cause: {result.cause or 'not known'}. Defect: {result.defect}."
    lines = [
        *([words] if words else []),
        *([] if answer is None else [answer.what, answer.where, answer.how_sure, answer.whose]),
        *(f"Ask the reporter: {question.text}" for question in getattr(result, "ask", [])),
        *(f"Caveat: {caveat}" for caveat in result.caveats),
        *(["The result was shortened to fit."] if result.shortened else []),
        NOTICE,
    ]
    return "\n".join(filter(None, lines)), result.model_dump_json(by_alias=True)


def _wrong_arguments(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [
        f"{'.'.join(str(part)[:60] for part in each['loc'][:6]) or 'arguments'}: {each['msg'][:200]}"
        for each in problems[:5]
    ]
    return "These arguments can't be used. " + "; ".join(lines)
