"""The environment a reporter names, under the names a captured one has, so that the two compare field by field."""

from __future__ import annotations

import re

from worker.contract import Environment

# How a line of a list begins: `- **OS**: …`, `[pip3] numpy==…`, `* Python version: …`.
_BULLET = r"^[ \t>*_`|-]{0,10}"
_AFTER = r"[ \t*_`]{0,4}(?:\(e\.g\.[^)\n]{0,30}\))?[ \t*_`]{0,4}[:：=|][ \t*_`:=]{0,6}"
_WORDS = r"([^\n|`*]{2,100}?)[ \t.;,*`|]*$"
_VERSION = r"v?(\d+\.\d+[\w.+]*)"


def _field(name: str, pattern: str) -> tuple[str, re.Pattern[str]]:
    return name, re.compile(pattern, re.IGNORECASE | re.MULTILINE)


# One pattern a field, the more certain first: what `torch.utils.collect_env` prints, `pip list`, and what people type.
_FIELDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    _field("torch.version", rf"{_BULLET}(?:py)?torch(?:[ -]?version)?{_AFTER}{_VERSION}"),
    _field("torch.version", rf"{_BULLET}(?:\[(?:pip3?|conda)\] )?torch[ \t]*(?:==|[ \t])[ \t]*{_VERSION}"),
    _field(
        "torch.version",
        r"\b(?:py)?torch(?:[ \t]version)?[ \t]*(?:is[ \t]|==?|:)?[ \t]*v?"
        r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:\+\w+|\.dev\d+|\.post\d+|a0|rc\d)?)(?![\w.]*\d)",
    ),
    _field("torch.version", r"\bpytorch[-_]nightly[ \t]*=+[ \t]*(\d[\w.]*)"),
    _field("torch.cuda_build", rf"{_BULLET}CUDA used to build PyTorch{_AFTER}(\d[\w.]*)"),
    _field("torch.cuda_build", rf"{_BULLET}CUDA(?:/cuDNN)?(?:[ -]version)?{_AFTER}(?:CUDA[ \t]*)?(\d+(?:\.\d+){{0,2}})"),
    _field("cudnn.version", rf"{_BULLET}CUDA/cuDNN(?:[ -]version)?{_AFTER}(?:\d[\d.]*[ \t]*/[ \t]*)?(?:cuDNN[ \t]*)?v?(\d[\d.]*)"),
    _field("cudnn.version", rf"{_BULLET}cuDNN(?:[ -]version)?{_AFTER}v?(\d[\d.]*)"),
    _field("os.name", rf"{_BULLET}(?:OS|operating[ -]?system|platform)(?:[ -]version)?{_AFTER}{_WORDS}"),
    _field("python.version", rf"{_BULLET}python(?:[ -]version)?{_AFTER}{_VERSION}"),
    _field("python.version", r"\bpython[ \t=]{1,3}v?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)"),
    _field("python.version", r"/lib/python(3\.\d{1,2})/site-packages/"),
    _field("gpu.0.model", rf"{_BULLET}GPU models and configuration{_AFTER}(?:GPU 0:[ \t]*)?{_WORDS}"),
    _field("gpu.0.model", rf"{_BULLET}GPU 0:[ \t]*([^\n(|]{{2,80}}?)[ \t]*(?:\(|\||$)"),
    _field("gpu.0.model", rf"{_BULLET}GPUs?(?:[ -](?:model|name|type))?{_AFTER}{_WORDS}"),
    _field(
        "gpu.0.model",
        r"\b((?:NVIDIA[ \t])?(?:RTX|GTX|Tesla|Quadro|GeForce)[ \t]?(?:RTX[ \t]|GTX[ \t])?[A-Z]?\d{2,4}(?:[ \t]?(?:Ti|Super))?)\b",
    ),
    _field("gpu.0.model", r"\bon (?:an?[ \t]|the[ \t])?(?:NVIDIA[ \t])?([AHVLTP]\d{1,3}0{0,2}(?:[ \t-]\d{2}GB)?)\b(?![.\d])"),
    _field("gpu.driver", rf"{_BULLET}Nvidia driver version{_AFTER}(\d[\w.]*)"),
    _field("package.numpy", rf"{_BULLET}(?:\[(?:pip3?|conda)\] )?numpy[ \t]*(?:==?|[ \t]|:)[ \t]*{_VERSION}"),
    _field("cpu.model", rf"{_BULLET}Model name{_AFTER}{_WORDS}"),
    _field("os.libc", rf"{_BULLET}Libc version{_AFTER}{_WORDS}"),
)
_SYSTEM_WORDS = re.compile(
    r"\b((?:Microsoft )?Windows(?: Server)? ?(?:\d{1,4}|XP)?|Ubuntu(?: \d{2}\.\d{2}(?:\.\d)?)?|Debian(?: \d+)?|CentOS(?: \d)?|Arch Linux"
    r"|WSL ?2?|Fedora(?: \d+)?|mac ?OS ?[\w.]{0,12}|Mac OS ?X ?[\d.]{0,8})(?![\w/])",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"^(?:could not collect|n/?a|none|no|unknown|-+|\?+|no cuda)\b", re.IGNORECASE)
_MOST_CHARACTERS = 200_000
_MOST_VALUE = 100


def claimed_environment(text: str) -> Environment:
    """What the report says of where it happened; nothing is inferred from its silence."""
    text = _beginnings_and_end(text)
    found: Environment = {}
    for name, pattern in _FIELDS:
        if name not in found:
            values = (hit[1].strip() for hit in pattern.finditer(text))
            value = next((value for value in values if value and not _NOTHING.match(value)), None)
            if value is not None:
                found[name] = value[:_MOST_VALUE]
    if "os.name" not in found:
        system = _SYSTEM_WORDS.search(text)
        if system:
            found["os.name"] = system[1].strip()
    return found


def _beginnings_and_end(text: str) -> str:
    """A long report's beginning and end: its environment stands in one of them. Lines that are long hold none."""
    if len(text) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    return "\n".join(line[:400] for line in text.replace("\r", "").split("\n"))
