"""The tables, one class a file."""

from app.storage.models.attempt import AttemptRow
from app.storage.models.base import Base
from app.storage.models.change import ChangeRow
from app.storage.models.comparison import ComparisonRow
from app.storage.models.environment import EnvironmentRow
from app.storage.models.event import EventRow
from app.storage.models.idempotency_key import IdempotencyKeyRow
from app.storage.models.job import JobRow
from app.storage.models.node import NodeRow
from app.storage.models.report import ReportRow
from app.storage.models.run import RunRow
from app.storage.models.script import ScriptRow
from app.storage.models.token import TokenRow

__all__ = [
    "AttemptRow",
    "Base",
    "ChangeRow",
    "ComparisonRow",
    "EnvironmentRow",
    "EventRow",
    "IdempotencyKeyRow",
    "JobRow",
    "NodeRow",
    "ReportRow",
    "RunRow",
    "ScriptRow",
    "TokenRow",
]
