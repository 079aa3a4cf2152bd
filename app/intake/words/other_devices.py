"""Devices that no node has, by the words of a report: the GPUs of AMD, Apple and Intel, TPUs, NPUs."""

from __future__ import annotations

import re

from app.intake.words.vocabulary import FLAGS, both_devices, device_of

_OF = r"(?:['’]s)? (?:gpus?|cards?|graphics)"
_NAMES = {
    "hip": rf"radeon|rocm|amd{_OF}|instinct|mi(?:50|60|100|210|250x?|300[ax]?|325x|355x)"
    r"|rx ?[5-9]\d{3}(?: ?xtx?)?|gfx(?:9|10|11|12)[0-9a-f]{1,2}",
    "mps": rf"mps|apple{_OF}|m[1-5]{_OF}|metal (?:backend|device|gpu)",
    "xpu": rf"xpu|intel{_OF}|intel arc|arc a\d{{3}}m?|iris xe",
    "npu": r"npu|ascend ?\d{3}\w?",
    "hpu": r"hpu|gaudi ?\d?",
    "tpu": r"tpu(?: ?v\d\w?(?:-\d{1,4})?)?",
    "neuron": r"trainium|inferentia",
}
_ANY = re.compile(
    "|".join(
        rf"(?P<{name}>(?<![A-Za-z])(?:{words})s?(?: gpus?| cards?)?(?![A-Za-z0-9]))"
        for name, words in _NAMES.items()
    ),
    FLAGS,
)
_SHOWN_TOO = re.compile(
    r"\b(?:also|as well|likewise|regardless|not only)\b|\btoo(?=\W{0,3}$|[,.;)])"
    r"|(?<!not )(?<!not the )\bsame (?:(?:thing|happens|result|output|here|there) ){0,2}"
    r"(?:on|with|for|under|using)\b"
    r"|\b(?:no|without) (?:\w{1,12} )?(?:mps|xpu|tpu|hpu|npu)\b",
    FLAGS,
)
# A build for AMD says so of itself.
_BUILD_FOR_AMD = re.compile(
    r"\d\+rocm\d|\b(?:HIP runtime version|ROCM used to build PyTorch)[ \t]*[:：][ \t]*\d", re.IGNORECASE
)
_PIECES_TEXT = """
radeon rocm amd instinct mi5 mi6 mi1 mi2 mi3 rx gfx mps apple m1 m2 m3 m4 m5 metal xpu intel iris npu ascend
hpu gaudi tpu trainium inferentia
"""
_PIECES = (*_PIECES_TEXT.split(), "arc ")


def other_device_of(text: str) -> str | None:
    """The one device of a text that is neither the CPU nor a CUDA GPU; None if it names one of these, too."""
    device = other_device_in(text)
    rest = "" if device is None else _ANY.sub(" ", text)
    return device if device_of(rest) is None and not both_devices(rest) else None


def device_at_issue(text: str) -> str | None:
    """The same device, unless it only shows the same as another one: `also on MPS`, `no MPS`."""
    device = other_device_of(text)
    return None if device is None or _SHOWN_TOO.search(text) else device


def other_device_in(text: str) -> str | None:
    """The one device that is neither the CPU nor a CUDA GPU, whatever else a text names."""
    if not _may_name_device(text):
        return None
    devices = {name for match in _ANY.finditer(text) if (name := match.lastgroup)}
    return devices.pop() if len(devices) == 1 else None


def _may_name_device(sentence: str) -> bool:
    """Whether a sentence has a piece of a name. Most have none, and no pattern is tried on them."""
    lower = sentence.lower()
    return any(piece in lower for piece in _PIECES)


def is_built_for_amd(text: str) -> bool:
    """Whether a text shows an environment whose `cuda` is a card of AMD."""
    return _BUILD_FOR_AMD.search(text) is not None
