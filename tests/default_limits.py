"""`read` with the limits that a service has by default, for tests that are about something else."""

from __future__ import annotations

from functools import partial

from app.intake import read as intake
from app.settings import ServiceSettings

LIMITS = ServiceSettings().read_limits
read = partial(intake.read, limits=LIMITS)
