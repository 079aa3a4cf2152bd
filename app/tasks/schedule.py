"""The schedule of beat: how often a round of dispatch, of reaping, of reruns and of the canary is asked for.

It needs the broker only. So beat starts without the code that reads reports and judges them.
"""

from __future__ import annotations

from celery import Celery

from app.settings import ServiceSettings
from app.storage.broker import (
    QUEUE_DISPATCHER,
    TASK_CANARY,
    TASK_DISPATCH,
    TASK_RECOVER,
    TASK_RERUN,
    make_celery,
)


def scheduled_application(settings: ServiceSettings) -> Celery:
    """A Celery application without tasks, with the schedule for beat."""
    application = make_celery(settings)
    every = {
        TASK_DISPATCH: settings.sweep_seconds,
        TASK_RECOVER: settings.sweep_seconds,
        TASK_RERUN: settings.rerun_seconds,
    }
    if settings.canary_seconds:
        every[TASK_CANARY] = min(settings.canary_seconds, settings.rerun_seconds)
    application.conf.beat_schedule = {
        name: {"task": name, "schedule": seconds, "options": {"queue": QUEUE_DISPATCHER, "expires": seconds}}
        for name, seconds in every.items()
    }
    application.conf.beat_max_loop_interval = min(every.values())
    return application
