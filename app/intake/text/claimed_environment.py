"""Reads the environment that a reporter states, under the field names of captured environments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from app.intake.text.package_lists import listed_packages
from worker.contract import Environment

# The beginning of a line in a list: `- **OS**: …`, `[pip3] numpy==…`, `* Python version: …`.
_BULLET = r"^[ \t>*_`|-]{0,10}"
_AFTER = r"[ \t*_`]{0,4}+(?:\(e\.g\.[^)\n]{0,30}\))?[ \t*_`]{0,4}+[:：=|][ \t*_`:=]{0,6}+"
_WORDS = r"([^\n|`*]{2,100}?)[ \t.;,*`|]*+$"
_VERSION = r"v?(\d+\.\d++[\w.+]*+)"
_SYSTEM_WORDS = re.compile(
    r"\b((?:Microsoft )?Windows(?: Server)? ?(?:\d{1,4}|XP)?|Ubuntu(?: \d{2}\.\d{2}(?:\.\d)?)?"
    r"|Debian(?: \d+)?|CentOS(?: \d)?|Arch Linux|WSL ?2?|Fedora(?: \d+)?|mac ?OS ?[\w.]{0,12}"
    r"|Mac OS ?X ?[\d.]{0,8})(?![\w/])",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"^(?:could not collect|n/?a|none|no|unknown|-+|\?+|no cuda)\b", re.IGNORECASE)
_MOST_CHARACTERS = 200_000
_MOST_VALUE = 100
_ALSO_LISTED = (
    ("torch.version", "torch"),
    ("torch.version", "pytorch"),
    ("python.version", "python"),
    ("torch.cuda_build", "pytorch-cuda"),
    ("torch.cuda_build", "cudatoolkit"),
)
_MACHINE = re.compile(r"\((x86_64|arm64|aarch64|amd64)\)\s*$", re.IGNORECASE)
# Labels of `collect_env`, for a report that joined its lines into one.
_LABELS = re.compile(
    r"[ \t](?=(?:Is debug build|CUDA used to build PyTorch|ROCM used to build PyTorch|OS|GCC version"
    r"|Clang version|CMake version|Libc version|Python version|Python platform|Is CUDA available"
    r"|CUDA runtime version|CUDA_MODULE_LOADING set to|GPU models and configuration|GPU \d"
    r"|Nvidia driver version|cuDNN version|HIP runtime version|MIOpen runtime version"
    r"|Is XNNPACK available|CPU|Architecture|Model name|Versions of relevant libraries"
    r"|PyTorch version): ?|\[(?:pip3?|conda)\] )"
)
_LEAST_LABELS = 4


def _field(name: str, pattern: str, *keys: str) -> tuple[str, re.Pattern[str], tuple[str, ...]]:
    """A field, its pattern, and the keys: each text that has the field holds one of them, in lower case."""
    return name, re.compile(pattern, re.IGNORECASE | re.MULTILINE), keys


# Patterns for each field, the most certain first: `torch.utils.collect_env`, then `pip list`, then free text.
_FIELDS: tuple[tuple[str, re.Pattern[str], tuple[str, ...]], ...] = (
    _field("torch.version", rf"{_BULLET}(?:py)?torch(?:[ -]?version)?{_AFTER}{_VERSION}", "torch"),
    _field(
        "torch.version",
        rf"{_BULLET}(?:\[(?:pip3?|conda)\] )?torch(?:[ \t]*==[ \t]*+|[ \t]++){_VERSION}",
        "torch",
    ),
    _field(
        "torch.version",
        rf"\btorch\.__version__[ \t]*+\)?[ \t]*+(?:#|=+>?|:|is)?[ \t]*+\n?[ \t>]{{0,4}}['\"]?{_VERSION}",
        "torch",
    ),
    _field("torch.version", rf"['\"](?:py)?torch['\"][ \t]*:[ \t]*['\"]{_VERSION}['\"]", "torch"),
    _field("torch.version", rf"\bTORCH_VERSION={_VERSION}", "torch"),
    _field(
        "torch.version",
        r"\b(?:py)?torch[ -]nightly[^\d\n]{0,12}(\d{1,2}\.\d{1,2}\.\d{1,2}\.?dev\d{8}(?:\+\w{1,8})?)",
        "torch",
    ),
    _field(
        "torch.version",
        r"\b(?:py)?torch(?:[ \t]version)?[ \t]*+(?:is[ \t]|==?|:)?[ \t]*+v?"
        r"(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:\+\w+|\.dev\d+|\.post\d+|a0|rc\d)?)(?![\w.]*\d)",
        "torch",
    ),
    _field("torch.version", r"\bpytorch[-_]nightly[ \t]*=+[ \t]*(\d[\w.]*)", "torch"),
    _field("torch.cuda_build", rf"{_BULLET}CUDA used to build PyTorch{_AFTER}(\d[\w.]*)", "cuda"),
    _field(
        "torch.cuda_build",
        rf"{_BULLET}CUDA(?:/cuDNN)?(?:[ -]version)?{_AFTER}(?:CUDA[ \t]*)?(\d+(?:\.\d+){{0,2}})",
        "cuda",
    ),
    _field(
        "torch.cuda_build",
        r"\btorch\.version\.cuda[ \t]*+\)?[ \t]*+(?:#|=+>?|:)?[ \t]*+\n?[ \t>]{0,4}['\"]?(\d{1,2}\.\d)\b",
        "cuda",
    ),
    _field("torch.cuda_build", rf"{_BULLET}CUDA Runtime[ \t]+(\d{{1,2}}\.\d)\b", "cuda"),
    _field("torch.cuda_build", r"\bCUDA(?:[ \t]toolkit)?[ \t]?v?(\d{1,2}\.\d{1,2})(?![\w.]*\d)", "cuda"),
    _field(
        "cudnn.version",
        rf"{_BULLET}CUDA/cuDNN(?:[ -]version)?{_AFTER}(?:\d[\d.]*[ \t]*/[ \t]*)?(?:cuDNN[ \t]*)?v?(\d[\d.]*)",
        "cudnn",
    ),
    _field("cudnn.version", rf"{_BULLET}cuDNN(?:[ -]version)?{_AFTER}v?(\d[\d.]*)", "cudnn"),
    _field("cudnn.version", r"\blibcudnn\.so\.(\d\.\d{1,2}\.\d{1,2})\b", "cudnn"),
    _field(
        "cudnn.version",
        r"\bcudnn\.version\(\)[ \t]*+\)?[ \t]*+(?:#|=+>?|:)?[ \t]*+\n?[ \t>]{0,4}(\d{4,6})\b",
        "cudnn",
    ),
    _field("cudnn.version", r"\bcuDNN[ \t]?v?(\d\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)", "cudnn"),
    _field("os.name", rf"{_BULLET}(?:OS|operating[ -]?system|platform)(?:[ -]version)?{_AFTER}{_WORDS}"),
    _field("python.version", rf"{_BULLET}python(?:[ -]version)?{_AFTER}{_VERSION}", "python"),
    _field("python.version", r"\bpython[ \t=]{1,3}v?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)", "python"),
    _field("python.version", r"/lib/python(3\.\d{1,2})/site-packages/", "python"),
    _field(
        "gpu.0.model",
        rf"{_BULLET}GPU models and configuration{_AFTER}(?:GPU 0:[ \t]*)?{_WORDS}",
        "gpu models",
    ),
    _field("gpu.0.model", rf"{_BULLET}GPU 0:[ \t]*([^\n(|]{{2,80}}?)[ \t]*(?:\(|\||$)", "gpu 0:"),
    _field(
        "gpu.0.model",
        r"^\|[ \t]{1,4}0[ \t]{1,4}((?:NVIDIA|Tesla|GeForce|Quadro"
        r"|GRID)[^\n|]{2,40}?)(?:\.{2,3})?[ \t]+(?:On|Off|WDDM|TCC)\b",
        "nvidia",
        "tesla",
        "geforce",
        "quadro",
        "grid",
    ),
    _field(
        "gpu.0.model",
        r"\bget_device_name\((?:0)?\)[ \t]*+\)?[ \t]*+\n?[ \t>]{0,4}['\"]([^'\"\n]{2,60})['\"]",
        "get_device_name",
    ),
    _field("gpu.0.model", rf"{_BULLET}GPUs?(?:[ -](?:model|name|type))?{_AFTER}{_WORDS}", "gpu"),
    _field(
        "gpu.0.model",
        r"\b((?:NVIDIA[ \t])?(?:RTX|GTX|Tesla|Quadro|GeForce)[ \t]?(?:RTX[ \t]"
        r"|GTX[ \t])?[A-Z]?\d{2,4}(?:[ \t]?(?:Ti|Super))?)\b",
        "rtx",
        "gtx",
        "tesla",
        "quadro",
        "geforce",
    ),
    _field(
        "gpu.0.model",
        r"\bon (?:an?[ \t]|the[ \t])?(?:NVIDIA[ \t])?([AHVLTP]\d{1,3}0{0,2}(?:[ \t-]\d{2}GB)?)\b(?![.\d])",
        "on ",
    ),
    _field(
        "gpu.0.model",
        r"(?<![\w-])((?:NVIDIA[ \t])?(?:A100|H100|H200|B200|GH200|V100|P100|L40S|A6000|A10G)"
        r"(?:[ \t-](?:SXM\d?|PCIe))?(?:[ \t-]\d{2}[ \t]?GB)?)(?![\w-])",
        "a100",
        "h100",
        "h200",
        "b200",
        "v100",
        "p100",
        "l40s",
        "a6000",
        "a10g",
    ),
    _field("gpu.driver", r"\bDriver Version:[ \t]*(\d{3}\.\d[\w.]*)", "driver version"),
    _field(
        "cuda.driver", r"\bDriver Version:[^\n]{1,40}\bCUDA Version:[ \t]*(\d{1,2}\.\d)", "driver version"
    ),
    _field("gpu.driver", rf"{_BULLET}Nvidia driver version{_AFTER}(\d[\w.]*)", "driver version"),
    _field(
        "package.numpy",
        rf"{_BULLET}(?:\[(?:pip3?|conda)\] )?numpy(?:[ \t]*(?:==?|:)[ \t]*+|[ \t]++){_VERSION}",
        "numpy",
    ),
    _field("package.numpy", r"\bnumpy[ \t]?(?:==?[ \t]?|v)?(\d\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)", "numpy"),
    _field(
        "package.numpy",
        rf"\b(?:np|numpy)\.__version__[ \t]*+\)?[ \t]*+(?:#|=+>?|:)?[ \t]*+\n?[ \t>]{{0,4}}['\"]?{_VERSION}",
        "__version__",
    ),
    _field("blas.version", r"\bMath Kernel Library Version (20\d\d(?:\.\d{1,2})?)", "math kernel"),
    _field("onednn.version", r"\bMKL-DNN v(\d[\d.]*)", "mkl-dnn"),
    _field("torch.cpu_capability", r"\bCPU capability usage: ([\w.]{3,12})", "cpu capability"),
    _field(
        "cpu.model",
        r"\b(?:Apple(?: Silicon)?|Mac[\w ]{0,20})[ \t(,]{1,3}(M[1-4](?:[ \t](?:Pro|Max|Ultra))?)(?!\w)",
        "apple",
        "mac",
    ),
    _field("cpu.model", rf"{_BULLET}Model name{_AFTER}{_WORDS}", "model name"),
    _field("os.libc", rf"{_BULLET}Libc version{_AFTER}{_WORDS}", "libc version"),
)


_TRIED = re.compile(
    r"\b(?P<before>[^.\n]{0,30})\b(?:I|we)(?: have|['’]ve| am|['’]m)? "
    r"(?:tried|tested|use|using)(?: it| this)?(?: with| on| in)?"
    r" (?:(?P<package>(?:py)?torch|numpy) )?v?(?P<version>\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:(?:rc|a|b)\d)?)"
    r"(?![\w.]*\d)(?P<after>[^.\n]{0,60})",
    re.IGNORECASE,
)
# A version that is tried beside others is none of the reporter's own.
_ONE_OF_SEVERAL = re.compile(
    r"\b(?:also|too|as well|then|works?|worked|fine|ok|same|and|or|but|to|both)\b|\d\.\d", re.IGNORECASE
)
_TORCH_OR_NUMPY = re.compile(r"\b(?:py)?torch\b|\bnumpy\b", re.IGNORECASE)
# A version that is only told about, or stated.
_NAMED = re.compile(
    r"(?P<told>\b(?:in|until|till|before|up to|since|from|like|under|old|older|earlier"
    r"|(?:tried|tested|use|using)(?: it| this)?(?: with| on)?) )?"
    r"\b(?P<name>(?:py)?torch|numpy)(?:[ \t]?(?:==?|:|v)?[ \t]?)\d",
    re.IGNORECASE,
)


def claimed_environment(text: str) -> Environment:
    """The environment that a report states. Nothing is inferred from missing statements."""
    text = _unfold(_beginnings_and_end(text))
    small = text.lower()
    fields: Environment = {}
    for name, pattern, keys in _FIELDS:
        if name not in fields and (not keys or any(key in small for key in keys)):
            values = [
                value
                for hit in pattern.finditer(text)
                if (value := hit[1].strip()) and not _NOTHING.match(value)
            ]
            if values and not _contradict(name, values):
                fields[name] = values[0][:_MOST_VALUE]
    fields |= _tried_version(text, fields)
    if "os.name" not in fields:
        systems = {
            system_name.casefold(): system_name
            for hit in _SYSTEM_WORDS.finditer(text)
            for system_name in [hit[1].strip()]
        }
        if len({name.split()[0] for name in systems}) == 1:
            fields["os.name"] = max(systems.values(), key=len)
    return dict(
        sorted({**fields, **_of_packages(fields, listed_packages(text)), **_in_captured_form(fields)}.items())
    )


def _tried_version(text: str, fields: Environment) -> Environment:
    """The version that the reporter tried, as in `In numpy 1.26 it was fine. I tried 2.0.0rc1`.

    It goes before another version only if that one is told about, as `in numpy 1.26`, and not stated.
    """
    pairs = {
        (hit["package"] or "", hit["version"])
        for hit in _TRIED.finditer(text)
        if not _ONE_OF_SEVERAL.search(hit["before"] + hit["after"])
    }
    if len(pairs) != 1:
        return {}
    [(package, version)] = pairs
    names = {match.casefold().removeprefix("py") for match in _TORCH_OR_NUMPY.findall(package or text)}
    if len(names) != 1:
        return {}
    [name] = names
    field = "torch.version" if name == "torch" else f"package.{name}"
    stated = [match for match in _NAMED.finditer(text) if match["name"].casefold().endswith(name)]
    if field in fields and not (stated and all(match["told"] for match in stated)):
        return {}
    return {field: version}


def _contradict(name: str, values: list[str]) -> bool:
    """True if a text names several minor versions of torch, so that none can be claimed."""
    return name == "torch.version" and len({".".join(value.split(".")[:2]) for value in values}) > 1


def _of_packages(fields: Environment, packages: Mapping[str, str]) -> Environment:
    """Fields from lists of packages. They also fill fields of torch that nothing else states."""
    package_fields: Environment = {f"package.{name}": version for name, version in packages.items()}
    for name, package in _ALSO_LISTED:
        if name not in fields and package in packages:
            package_fields.setdefault(
                name,
                packages[package]
                if name != "torch.cuda_build"
                else ".".join(packages[package].split(".")[:2]),
            )
    cudnn = next((version for name, version in packages.items() if name.startswith("nvidia-cudnn-cu")), None)
    return (
        {**package_fields, **_in_captured_form({"cudnn.version": cudnn})}
        if cudnn and "cudnn.version" not in fields
        else package_fields
    )


def _in_captured_form(fields: Environment) -> Environment:
    """The fields that need another spelling to compare with a captured environment."""
    changes: Environment = {}
    cudnn, libc, system = (fields.get(name) for name in ("cudnn.version", "os.libc", "os.name"))
    if isinstance(cudnn, str) and (number := cudnn_number(cudnn)) is not None:
        changes["cudnn.version"] = number
    if isinstance(libc, str):
        changes["os.libc"] = libc.replace("glibc-", "glibc ")
    if isinstance(system, str) and (machine := _MACHINE.search(system)):
        changes |= {"os.name": system[: machine.start()].strip(), "os.machine": machine[1]}
    return changes


def cudnn_number(version: str) -> int | None:
    """The number that cuDNN itself gives: 8902 for `8.9.2`, and two more digits since 9."""
    if version.isdigit():
        return int(version) if len(version) >= 4 else None
    parts = [int(part) for part in version.split(".") if part.isdigit()][:3]
    if len(parts) < 3:
        return None
    return parts[0] * (10_000 if parts[0] >= 9 else 1_000) + parts[1] * 100 + parts[2]


def _unfold(text: str) -> str:
    """The text, with the lines of a joined `collect_env` split again."""
    return "\n".join(
        line[:400] if len(line) <= 400 and not _has_labels(line) else _split_at_labels(line)
        for line in text.split("\n")
    )


def _has_labels(line: str) -> bool:
    # Each label has one of these signs.
    is_possible = line.count(":") + line.count("[") >= _LEAST_LABELS
    return is_possible and len(_LABELS.findall(line)) >= _LEAST_LABELS


def _split_at_labels(line: str) -> str:
    parts = _LABELS.split(line)
    return "\n".join(part[:400] for part in parts) if len(parts) > _LEAST_LABELS else line[:400]


def _beginnings_and_end(text: str) -> str:
    """The beginning and the end of a long report. Its environment stands in one of them."""
    text = text.replace("\r", "")
    if len(text) > _MOST_CHARACTERS:
        half = _MOST_CHARACTERS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    return text
