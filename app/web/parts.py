"""Parts of pages. A part that can't be drawn says so, and the rest of the page is drawn.

In a template `{% part "the claim" %}…{% endpart %}` marks a part. Values of pages may be `Lazy`: such a value
is computed in the part that first uses it, so a fault of the value is a fault of that part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Generic, ParamSpec, TypeVar

import structlog
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context
from markupsafe import Markup
from sqlalchemy.exc import SQLAlchemyError

from app.errors import SamehereError
from app.http.meters import current_meters

log = structlog.get_logger(__name__)
Parameters = ParamSpec("Parameters")
Value = TypeVar("Value")
Text = TypeVar("Text", bound=str)

SENTENCE = "This part can't be shown: {}. The fault is ours."
# They stand in the place of parts. `row` needs the number of columns.
PLACEHOLDERS = {
    "block": Markup('<p class="broken"{id}>{sentence}</p>'),
    "item": Markup('<li class="broken">{sentence}</li>'),
    "row": Markup('<tr class="broken"><td colspan="{columns}">{sentence}</td></tr>'),
    "text": Markup("This part can't be shown"),
}
# The ids of the things on the page, for the log.
_IDS: ContextVar[Mapping[str, str]] = ContextVar("ids_on_page", default=MappingProxyType({}))
_FAILED: ContextVar[list[str] | None] = ContextVar("failed_parts", default=None)


class Lazy(Generic[Value]):
    """A value that is computed when it is first used. A fault is raised again at each use."""

    __slots__ = ("_compute", "_error", "_value")

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._error: Exception | None = None

    def __call__(self) -> Value:
        """The value. Raises what its computation raises."""
        if self._compute is not None:
            try:
                self._value = self._compute()
            except Exception as error:  # noqa: BLE001 - raised below, and at each later use
                self._error = error
            self._compute = None
        if self._error is not None:
            raise self._error
        return self._value


def lazily(
    function: Callable[Parameters, Value], *arguments: Parameters.args, **keywords: Parameters.kwargs
) -> Lazy[Value]:
    """The value of a call that is made when the value is first used."""
    return Lazy(lambda: function(*arguments, **keywords))


@contextmanager
def page_with(values: Mapping[str, object]) -> Iterator[None]:
    """A page with these values is drawn inside. The log names the ids of all things among them."""
    ids = {name: value.id for name, value in values.items() if isinstance(getattr(value, "id", None), str)}  # type: ignore[attr-defined]
    token = _IDS.set(ids)
    try:
        yield
    finally:
        _IDS.reset(token)


@contextmanager
def failed_parts() -> Iterator[list[str]]:
    """The names of the parts that can't be drawn inside."""
    names: list[str] = []
    token = _FAILED.set(names)
    try:
        yield names
    finally:
        _FAILED.reset(token)


def draw_part(name: str, draw: Callable[[], Text], *, placeholder: Callable[[], Text], **ids: str) -> Text:
    """The text of a part; that of `placeholder` if drawing it fails. Such a fault is logged with the ids.

    Raises what is an answer itself: SamehereError, and SQLAlchemyError.
    """
    try:
        return draw()
    except (SamehereError, SQLAlchemyError):
        raise
    except Exception:
        # One bad value must not take the page down.
        log.exception("page_part_failed", part=name, **{**_IDS.get(), **ids})
        meters = current_meters.get()
        if meters is not None:
            meters.note_failed_part()
        failed = _FAILED.get()
        if failed is not None:
            failed.append(name)
        return placeholder()


class LazyContext(Context):
    """The names of a template. A lazy value is computed when the template uses it."""

    def resolve_or_missing(self, key: str) -> Any:
        value = super().resolve_or_missing(key)
        return value() if isinstance(value, Lazy) else value


class PartExtension(Extension):
    """The tag `{% part NAME [instead="row" columns=4] [id="…"] [report=…] %}…{% endpart %}`.

    `instead` is the form of the placeholder, and `id` its HTML id. All other names are ids for the log.
    """

    tags = {"part"}  # noqa: RUF012 - as its base class has it

    def parse(self, parser: Parser) -> nodes.Node:
        """The call that draws the part."""
        line = next(parser.stream).lineno
        name = parser.parse_expression()
        keywords = []
        while parser.stream.current.type != "block_end":
            key = parser.stream.expect("name").value
            parser.stream.expect("assign")
            keywords.append(nodes.Keyword(key, parser.parse_expression()))
        body = parser.parse_statements(("name:endpart",), drop_needle=True)
        call = self.call_method("_draw", [name], keywords)
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _draw(
        self,
        name: str,
        *,
        caller: Callable[[], Markup],
        instead: str = "block",
        columns: int = 1,
        id: str = "",  # noqa: A002 - the name of the attribute
        **ids: str,
    ) -> Markup:
        def placeholder() -> Markup:
            attribute = Markup(' id="{}"').format(id) if id else ""
            return PLACEHOLDERS[instead].format(sentence=SENTENCE.format(name), columns=columns, id=attribute)

        return draw_part(name, caller, placeholder=placeholder, **ids)
