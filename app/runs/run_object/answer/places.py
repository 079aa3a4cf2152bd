"""The places where cells ran: hardware by name, versions of packages, and settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from packaging.version import Version

from app.judging.report.axis import version_text
from app.runs.run_object.contributed_names import is_plain_version
from app.runs.run_object.document import JobPart, RunDocument
from app.targets.packages import packages_among
from worker.contract import Environment
from worker.contract.versions import NO_VERSION, parse_version

MOST_PLACES, MOST_PACKAGES, MOST_VERSIONS = 3, 2, 4
_ALWAYS = ("torch", "numpy")
_PYTHON = "python"


# Names of packages with their versions.
Versions = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The place of one cell. `versions` pairs the named packages with their versions."""

    hardware: str
    versions: Versions
    settings: str


def environment_of(run: RunDocument, job: JobPart) -> Environment:
    """The environment of a cell, from its first counted attempt that has one; empty without one."""
    digest = next(
        (attempt.environment for attempt in job.attempts if attempt.counted and attempt.environment), None
    )
    return run.environments.get(digest or "", {})


def imports_of(run: RunDocument) -> set[str]:
    """The packages that the scripts of a run import."""
    return {name for script in run.report.scripts for name in packages_among(script.needs)}


def hardware_name(job: JobPart, environment: Environment, *, foreign: bool = False) -> str:
    """The model of the card, or of the CPU for a target without a card.

    A contributed machine may have any name. With `foreign` only the kind of device is named.
    """
    cards = job.target.device != "cpu"
    model = environment.get("gpu.0.model" if cards else "cpu.model")
    name = model.strip() if isinstance(model, str) and not foreign else ""
    name = name or ("a GPU" if cards else "a CPU")
    return f"{job.target.gpus} × {name}" if cards and job.target.gpus > 1 else name


def display_name(package: str) -> str:
    """The name of a package in a sentence."""
    return "Python" if package == _PYTHON else package


def places_of(run: RunDocument, jobs: Sequence[JobPart], *, packages: Sequence[str]) -> list[Place]:
    """The places of cells, each once, with the versions of these packages."""
    foreign = run.contributed is not None
    return list(dict.fromkeys(_place(run, job, packages, foreign=foreign) for job in jobs))


def packages_to_name(run: RunDocument, jobs: Sequence[JobPart]) -> list[str]:
    """The packages whose versions matter: those that vary between cells, else torch or the first others.

    Without one it is Python.
    """
    imported = sorted(imports_of(run), key=lambda name: (name not in _ALWAYS, name))
    environments = [environment for job in jobs if (environment := environment_of(run, job))]
    versions = {
        name: {version_text(environment, name) for environment in environments}
        for name in dict.fromkeys((*imported, *_ALWAYS, _PYTHON))
    }
    varying = [name for name, each in versions.items() if len(each) > 1 and name in (*imported, _PYTHON)]
    known = [name for name in imported if any(versions[name])]
    # A script that uses another package beside numpy is seldom about numpy.
    matter = known[1::-1] if known[:1] == ["numpy"] else known[:1]
    return (varying or matter or [_PYTHON])[:MOST_PACKAGES]


def _place(run: RunDocument, job: JobPart, packages: Sequence[str], *, foreign: bool) -> Place:
    environment = environment_of(run, job)
    versions = ((name, version_text(environment, name).partition("+")[0]) for name in packages)
    return Place(
        hardware=hardware_name(job, environment, foreign=foreign),
        versions=tuple(
            (name, version) for name, version in versions if version and is_plain_version(version)
        ),
        settings=", ".join(
            _setting_words(name, value) for name, value in sorted(job.target.settings.items())
        ),
    )


def _setting_words(name: str, value: str) -> str:
    """A setting as it is written in a target. Only ours, which no reporter knows, has words."""
    setting = f"{name}={value}"
    return f"operations recorded by {setting}" if name == "trace" else setting


def place_words(places: Iterable[Place]) -> str:
    """Places in words: `AMD EPYC 9B14 with numpy 2.4.0 and 2.4.6; NVIDIA H200 with numpy 2.4.0`."""
    words = [
        " ".join(filter(None, (hardware, _version_words(versions), _settings_words(settings))))
        for hardware, versions, settings in _groups(places)
    ]
    more = len(words) - MOST_PLACES
    return "; ".join(words[:MOST_PLACES]) + (f"; and {more} more" if more > 0 else "")


def contrast_words(places: Sequence[Place], free: Sequence[Place]) -> str:
    """The places that are free of it, named only by what sets them apart from the others."""
    every = [*places, *free]
    if len({place.hardware for place in every}) > 1:
        return f"on {place_words(free)}"
    if len({place.versions for place in every}) > 1:
        return place_words(replace(place, hardware="") for place in free)
    settings = list(dict.fromkeys(place.settings for place in free))
    return "without these settings" if settings == [""] else f"with {_setting_list(settings)}"


def _groups(places: Iterable[Place]) -> list[tuple[str, list[Versions], list[str]]]:
    """Places with equal hardware and settings as one, and then those with equal hardware and versions."""
    by_settings: dict[tuple[str, str], list[Versions]] = {}
    for place in places:
        by_settings.setdefault((place.hardware, place.settings), []).append(place.versions)
    groups: dict[tuple[str, frozenset[Versions]], tuple[str, list[Versions], list[str]]] = {}
    for (hardware, settings), versions in by_settings.items():
        key = (hardware, frozenset(versions))
        groups.setdefault(key, (hardware, versions, []))[2].append(settings)
    return list(groups.values())


def _version_words(versions: Sequence[Versions]) -> str:
    """The versions at one place: `with numpy 2.3.5 and 2.4.0`."""
    combinations = [each for each in dict.fromkeys(versions) if each]
    names = {tuple(name for name, _ in each) for each in combinations}
    if len(names) == 1 and len(combinations[0]) == 1:
        numbers = sorted({each[0][1] for each in combinations}, key=_order)
        return f"with {display_name(combinations[0][0][0])} {_list_words(numbers)}"
    words = [" and ".join(f"{display_name(name)} {one}" for name, one in each) for each in combinations]
    return f"with {_list_words(words, last=' or ')}" if words else ""


def _settings_words(settings: Sequence[str]) -> str:
    return "" if set(settings) == {""} else f"({_setting_list(settings)})"


def _setting_list(settings: Sequence[str]) -> str:
    return _list_words([each or "the default settings" for each in settings], last=" or ")


def _order(version: str) -> Version:
    return parse_version(version) or NO_VERSION


def _list_words(words: Sequence[str], *, last: str = " and ") -> str:
    """A list in words. If it is long, the first and the last word stand for it."""
    if len(words) > MOST_VERSIONS:
        return f"{words[0]} to {words[-1]}, {len(words)} in all"
    return last.join(filter(None, (", ".join(words[:-1]), *words[-1:])))
