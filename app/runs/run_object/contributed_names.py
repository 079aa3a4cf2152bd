"""A contributed run without the words of strangers in the places where our own sentences take words from.

Whoever makes a bundle chooses the names of toolchains and the texts of reasons. In the run object and in its
sentences stand only names that can say nothing, and codes that we know. The bundle itself, the lists of
attempts and the environments keep what was contributed, as data.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from string import ascii_lowercase

from app.runs.run_object.facts import AttemptFacts, JobFacts
from app.targets.target import Target
from worker.contract import Reason

# Names of packages with a version, as our own toolchains have them: nobody can write a sentence so.
_PLAIN_NAME = re.compile(
    r"(?:torch|numpy|python)-\d{1,3}(?:\.\d{1,3}){0,2}(?:-(?:cpu|cuda|cu\d{2,3}|rocm\d?))?"
)
# A version of a package without free words: a local part is that of a build.
_PLAIN_VERSION = re.compile(
    r"\d{1,4}(?:\.\d{1,4}){0,3}(?:(?:a|b|rc)\d{1,3})?(?:\.post\d{1,3})?(?:\.dev\d{1,8})?"
    r"(?:\+(?:cpu|cu\d{2,3}|rocm\d(?:\.\d{1,2}){0,2}|xpu))?"
)
# The codes of all reasons that this version of samehere gives.
_CODES = """
absolute_time audit cancelled card_faulty card_in_use ended_earlier file_size_limit gave_up_politely
given_back isa_not_supported level_too_weak memory_limit met_when_observed missing_file missing_package
model_reading needs_info needs_input no_compiler no_cuda_build no_deterministic_kernel no_gpu
no_kernels_for_card no_mkl
no_network no_node no_sides no_such_gpu no_times no_toolchain no_torch node_fault not_compiled
nothing_shown other_device other_mode other_os other_version output_limit path_not_taken point_not_seen
point_passed probe_failed process_limit quarantined random_numbers sandbox_limit scratch_limit
setting_needs_namespaces setting_not_in_force setting_without_effect settings stale_reproducer
switched_off takes_long time_limit too_few_attempts too_few_gpus too_many_readings too_noisy toolchain_failed
tripwire two_readings unavailable unclear unknown_contract unknown_setting unknown_toolchain
"""
KNOWN_CODES = frozenset(_CODES.split())
OTHER_CODE = "reason_from_elsewhere"
_DETAIL = "The machine that it ran on gave this reason."


def without_foreign_words(jobs: Sequence[JobFacts]) -> list[JobFacts]:
    """The cells of a contributed run, with plain names of toolchains and reasons without texts."""
    names = plain_names(job.target.toolchain for job in jobs)
    return [
        replace(
            job,
            target=rename_toolchain(job.target, names),
            reason=plain_reason(job.reason),
            attempts=tuple(_attempt(attempt) for attempt in job.attempts),
        )
        for job in jobs
    ]


def plain_names(toolchains: Iterable[str]) -> dict[str, str]:
    """Our names for those toolchains of a contributed run whose own names may say something."""
    names = dict.fromkeys(name for name in toolchains if not is_plain_name(name))
    return {name: f"contributed-{_letters(number)}" for number, name in enumerate(names)}


def rename_toolchain(target: Target, names: Mapping[str, str]) -> Target:
    """The target with our name for its toolchain. `names` is from `plain_names`."""
    return target.model_copy(update={"toolchain": names.get(target.toolchain, target.toolchain)})


def is_plain_name(toolchain: str) -> bool:
    """Whether a toolchain's name says nothing but a package and its version."""
    return not toolchain or _PLAIN_NAME.fullmatch(toolchain) is not None


def is_plain_version(version: str) -> bool:
    """Whether the version of a package says nothing else."""
    return _PLAIN_VERSION.fullmatch(version) is not None


def plain_reason(reason: Reason | None) -> Reason | None:
    """A reason with a code that we know, and our own text."""
    if reason is None:
        return None
    code = reason.code if reason.code in KNOWN_CODES else OTHER_CODE
    return Reason(code=code, detail=_DETAIL, who_can_act=reason.who_can_act)


def _letters(number: int) -> str:
    """`a`, `b`, …, `z`, `ba`, …: without digits, since digits in a toolchain's name are read as a version."""
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letters(rest) if rest else "") + ascii_lowercase[last]


def _attempt(attempt: AttemptFacts) -> AttemptFacts:
    result = attempt.result
    if result is None or (result.reason is None and result.start_reason is None):
        return attempt
    update = {"reason": plain_reason(result.reason), "start_reason": plain_reason(result.start_reason)}
    return replace(attempt, result=result.model_copy(update=update))
