"""The tables. Each file has one class, except for the search index."""

from app.storage.models.act import ActRow
from app.storage.models.attempt import AttemptRow
from app.storage.models.base import Base
from app.storage.models.bisection import BisectionRow
from app.storage.models.change import ChangeRow
from app.storage.models.comparison import ComparisonRow
from app.storage.models.environment import EnvironmentRow
from app.storage.models.event import EventRow
from app.storage.models.github_delivery import GithubDeliveryRow
from app.storage.models.github_thread import GithubThreadRow
from app.storage.models.idempotency_key import IdempotencyKeyRow
from app.storage.models.job import JobRow
from app.storage.models.node import NodeRow
from app.storage.models.quarantine import QuarantineRow
from app.storage.models.report import ReportRow
from app.storage.models.report_search import ReportCellRow, ReportSearchRow
from app.storage.models.run import RunRow
from app.storage.models.run_document import RunDocumentRow
from app.storage.models.script import ScriptRow
from app.storage.models.sign_in import SignInRow
from app.storage.models.signing_key import SigningKeyRow
from app.storage.models.tally import TallyRow as TallyRow
from app.storage.models.token import TokenRow
from app.storage.models.toolchain import ToolchainRow
from app.storage.models.webhook import WebhookRow
from app.storage.models.webhook_delivery import WebhookDeliveryRow

__all__ = [
    "ActRow",
    "AttemptRow",
    "Base",
    "BisectionRow",
    "ChangeRow",
    "ComparisonRow",
    "EnvironmentRow",
    "EventRow",
    "GithubDeliveryRow",
    "GithubThreadRow",
    "IdempotencyKeyRow",
    "JobRow",
    "NodeRow",
    "QuarantineRow",
    "ReportCellRow",
    "ReportRow",
    "ReportSearchRow",
    "RunDocumentRow",
    "RunRow",
    "ScriptRow",
    "SignInRow",
    "SigningKeyRow",
    "TokenRow",
    "ToolchainRow",
    "WebhookDeliveryRow",
    "WebhookRow",
]
