"""A pool that keeps the connections of a busy time open for a while."""

from __future__ import annotations

import time
from typing import Self

from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

# So long after its last need, a connection beyond those that are always kept stays open.
KEEP_SECONDS = 60.0


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
        moment = time.monotonic()
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
