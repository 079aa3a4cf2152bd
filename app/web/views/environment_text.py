"""The environment of the strongest evidence in a few lines, as an issue needs it."""

from __future__ import annotations

from app.judging.report.axis import version_text
from app.runs.run_object.answer.places import environment_of, imports_of
from app.runs.run_object.document import JobPart, RunDocument
from app.web.views.runs import label_of
from worker.contract import Environment

_ALWAYS = ("torch", "numpy")
MOST_PACKAGES = 12


def environment_text(run: RunDocument) -> str:
    """Card, driver, system, Python and packages where it was seen, a line each. Empty if nothing ran.

    Untrusted for a contributed run.
    """
    job = _strongest(run)
    environment = {} if job is None else environment_of(run, job)
    lines = {
        "Target": label_of(job) if job is not None and environment else "",
        "GPU": _card(environment),
        "CPU": _text(environment, "cpu.model"),
        "OS": ", ".join(
            filter(None, (_text(environment, "os.name"), _with("kernel", _text(environment, "os.kernel"))))
        ),
        "Python": _text(environment, "python.version"),
        "Packages": _packages(run, environment),
    }
    return "\n".join(f"{name}: {text}" for name, text in lines.items() if text)


def _strongest(run: RunDocument) -> JobPart | None:
    """The first cell where it was seen, else the first one that has an environment."""
    jobs = [job for job in run.jobs if environment_of(run, job)]
    return next((job for job in jobs if label_of(job) in run.where), next(iter(jobs), None))


def _card(environment: Environment) -> str:
    model = _text(environment, "gpu.0.model")
    if not model:
        return ""
    count = environment.get("gpu.count")
    parts = (
        f"{count} × {model}" if isinstance(count, int) and count > 1 else model,
        _with("driver", _text(environment, "gpu.driver")),
        _with("CUDA", _text(environment, "torch.cuda_build") or _text(environment, "cuda.driver")),
    )
    return ", ".join(filter(None, parts))


def _packages(run: RunDocument, environment: Environment) -> str:
    names = dict.fromkeys((*_ALWAYS, *sorted(imports_of(run))))
    versions = ((name, version_text(environment, name)) for name in names)
    return ", ".join([f"{name} {version}" for name, version in versions if version][:MOST_PACKAGES])


def _text(environment: Environment, name: str) -> str:
    value = environment.get(name)
    return value.strip() if isinstance(value, str) else ""


def _with(word: str, text: str) -> str:
    return f"{word} {text}" if text else ""
