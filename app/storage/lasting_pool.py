"""A pool that keeps the connections of a busy time open for a while, and checks those that it gives out."""

from __future__ import annotations

import select
import time
from typing import Any, Self

from sqlalchemy import Engine, event
from sqlalchemy.exc import InvalidatePoolError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

# So long after its last need, a connection beyond those that are always kept stays open.
KEEP_SECONDS = 60.0
# A connection that was in use so lately is asked nothing before it is used again.
SURE_SECONDS = 1.0
# The time at which a connection came back, in the information of its record.
_BACK_AT = "back_at"


class LastingPool(QueuePool):
    """A pool of `pool_size` connections, of which it keeps `lasting` open while nobody needs more.

    SQLAlchemy's own pool closes each connection beyond those that it keeps when it comes back. Under load
    most requests then pay for a new one, which takes as long as a submission, just when there is no time.
    """

    # SQLAlchemy names its log by the module. In the log of ours, each step of each connection would stand.
    __module__ = QueuePool.__module__

    lasting = 1
    keep_seconds = KEEP_SECONDS
    _needed_at = float("-inf")

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        moment = record.info[_BACK_AT] = time.monotonic()
        if self.checkedout() > self.lasting:
            self._needed_at = moment
        is_open = self.checkedout() + self.checkedin()
        if is_open > self.lasting and moment - self._needed_at > self.keep_seconds:
            try:
                record.close()
            finally:
                self._dec_overflow()
        else:
            super()._do_return_conn(record)

    def recreate(self) -> Self:
        """A new, empty pool like this one."""
        pool = super().recreate()
        assert isinstance(pool, type(self))  # noqa: S101  # for the types: SQLAlchemy makes one of this class
        pool.lasting, pool.keep_seconds = self.lasting, self.keep_seconds
        return pool


def check_before_use(engine: Engine) -> None:
    """Replace a connection that the server has closed, before it is used.

    SQLAlchemy's own check asks the server each time, which is a round trip for every request. A connection
    that came back a moment ago is looked at instead: the end of the server's side can be read from it.
    """

    @event.listens_for(engine, "checkout")
    def _check(connection: Any, record: ConnectionPoolEntry, _fairy: object) -> None:
        back_at = record.info.get(_BACK_AT)
        if back_at is None or (time.monotonic() - back_at < SURE_SECONDS and _is_quiet(connection)):
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error


def _is_quiet(connection: Any) -> bool:
    """Whether the server has sent nothing since the last answer, and has not closed its side."""
    if connection.closed:
        return False
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLIN)
    return not watch.poll(0)
