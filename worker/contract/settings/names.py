"""The names of all settings, so that a misspelt variable is seen: nothing else would notice it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

PREFIX = "SAMEHERE_"
# The settings of the service and of a node, without the prefix. Each package knows only its own, and one file
# of variables may hold both. A test compares this with the settings.
_SETTINGS = """
    address_requests address_submissions anonymous_scopes awaited_node backlog_seconds body_bytes
    body_seconds broker_password_file broker_url bundle_bytes bundle_values caller_streams
    canary_limit_seconds canary_seconds cards_alone cards_overwrite card_check_memory_bytes
    card_check_seconds card_places card_sharing card_wait_seconds cells contrast_seconds
    database_password_file database_pool_size database_url demo drain_seconds explain_seconds first_uid
    gate_issues github_app github_bytes github_days github_key_file github_log_days github_progress_seconds
    github_repositories github_retry_seconds github_seconds github_secret_file github_url heartbeat_seconds
    hello_seconds home host hosts hours import_bytes import_issues job_restarts json_depth json_digits
    json_values leases lease_seconds level locks lock_seconds log_form log_level log_repeats
    mcp_result_bytes memory_bytes message_bytes node_absence_seconds node_name one_card_seconds
    packages_allowed pause_file port postgres_programs preset presets preview preview_places preview_seconds
    probe_seconds proxies public_url reader_at_once reader_characters reader_key_file reader_model
    reader_seconds reader_url reading_memory_bytes reading_processes reading_processes_of_strangers
    reading_seconds repeats repeat_seconds report_bytes required_level rerun rerun_attempts_a_day
    rerun_at_once rerun_cells rerun_days rerun_seconds result_bytes script_bytes service_uid sign_in_hours
    slots streams stream_bytes stream_kill_bytes sweep_seconds token_requests token_submissions toolchains
    toolchain_bytes toolchain_seconds toolchain_wait_seconds unawaited_runs unstarted_leases variables
    wait_seconds wall_seconds warm warm_audit_share warm_jobs warm_memory_bytes warm_repeats warm_seconds
    webhooks webhook_days webhook_key_file webhook_log_days webhook_private webhook_retry_most_seconds
    webhook_retry_seconds webhook_rotation_hours webhook_seconds webhook_senders
"""
SETTINGS = frozenset(_SETTINGS.split())
# Variables that hold a token for `--server`, and those by which our own processes speak to each other.
OTHERS = frozenset({"token", "token_file", "program", "awaited_node"})
_ALIKE = 0.6
_SHOWN_CHARACTERS = 60


def unknown_settings(variables: Iterable[str]) -> dict[str, str | None]:
    """Those of these names that begin as ours and are no setting, each with the nearest name that is one."""
    names = {}
    for name in sorted(variables):
        own = name.upper().removeprefix(PREFIX).lower()
        if name.upper().startswith(PREFIX) and own not in SETTINGS | OTHERS:
            near = _nearest(own)
            names[name] = None if near is None else f"{PREFIX}{near.upper()}"
    return names


def _nearest(own: str) -> str | None:
    """The setting whose name this may stand for: one that goes on or ends earlier, else one that is alike."""
    known = SETTINGS | OTHERS
    extended = [name for name in known if own.startswith(f"{name}_") or name.startswith(f"{own}_")]
    alike = get_close_matches(own, sorted(known), n=1, cutoff=_ALIKE)
    return max(extended, key=lambda name: (len(name), name), default=None) or next(iter(alike), None)


def warning_of(name: str, nearest: str | None) -> str:
    """The warning about a name that is no setting."""
    advice = f"The nearest one is {nearest}." if nearest else "docs/settings.md has all of them."
    return f"{name[:_SHOWN_CHARACTERS]!a} is no setting and has no effect. {advice}"
