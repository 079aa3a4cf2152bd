"""Pages of a list: the cursor of a page is the id of the last item on the page before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Generic, TypeVar

from app.errors import InputError
from app.ids import is_id

Item = TypeVar("Item")
View = TypeVar("View")

MOST_ITEMS = 200


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A part of a list. `next_cursor` is None on the last page."""

    items: tuple[Item, ...]
    next_cursor: str | None = None

    def map(self, view: Callable[[Item], View]) -> Page[View]:
        """The same page with `view` applied to each item."""
        return Page(tuple(map(view, self.items)), self.next_cursor)


def page(
    read: Callable[[str | None, int], Sequence[Item]],
    *,
    cursor: str | None,
    limit: int,
    id_of: Callable[[Item], str] = attrgetter("id"),
) -> Page[Item]:
    """Read the page behind a cursor with `read(cursor, limit)`.

    Raises InputError for a bad cursor or limit.
    """
    if cursor is not None and not is_id(cursor):
        raise InputError("This cursor is not one of ours.", code="bad_cursor", field="cursor")
    if not 1 <= limit <= MOST_ITEMS:
        raise InputError(f"limit is a number from 1 to {MOST_ITEMS}.", code="bad_limit", field="limit")
    # One item more than the page holds tells whether there is a next page.
    rows = tuple(read(cursor, limit + 1))
    if len(rows) <= limit:
        return Page(rows)
    return Page(rows[:limit], id_of(rows[limit - 1]))
