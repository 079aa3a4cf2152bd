"""Records the environment, with the settings in force, and prints one JSON object: value by dotted name.

It runs inside the sandbox, and, as a part of the reporters' `probe.py`, on any Linux, macOS or Windows. It
records only facts that two equal machines share: no host name, serial number, UUID, path or volatile value.
Standard library, Python 3.8 syntax.
"""

import ctypes
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile

VARIABLES = (
    "ATEN_CPU_CAPABILITY", "CUBLAS_WORKSPACE_CONFIG", "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
    "CUDA_VISIBLE_DEVICES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY", "MKL_CBWR", "MKL_DYNAMIC",
    "MKL_ENABLE_INSTRUCTIONS", "MKL_NUM_THREADS", "NVIDIA_TF32_OVERRIDE", "OMP_NUM_THREADS",
    "OMP_SCHEDULE", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS",
    "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "TORCHINDUCTOR_DETERMINISTIC",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_BLAS_PREFER_CUBLASLT",
)  # fmt: skip
CPU_FLAGS = [
    "sse4_1", "sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512dq",
    "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "asimd",
    "asimdhp", "asimddp", "bf16", "i8mm", "sve", "sve2",
]  # fmt: skip
# macOS' names of the same flags, and Windows' numbers.
MACOS_FLAGS = {
    "avx1_0": "avx", "avx2_0": "avx2", "sse4_1": "sse4_1", "sse4_2": "sse4_2", "avx512f": "avx512f",
    "avx512bw": "avx512bw", "avx512vl": "avx512vl", "avx512dq": "avx512dq", "advsimd": "asimd",
    "neon": "asimd", "neon_fp16": "asimdhp", "feat_fp16": "asimdhp", "feat_dotprod": "asimddp",
    "feat_bf16": "bf16", "feat_i8mm": "i8mm",
}  # fmt: skip
WINDOWS_FLAGS = {"sse4_1": 37, "sse4_2": 38, "avx": 39, "avx2": 40, "avx512f": 41}
# Words in MKL's banner that name the instruction set in use, most specific first.
MKL_ISA = (
    ("AVX-512", "avx512"),
    ("AVX2", "avx2"),
    ("(Intel(R) AVX)", "avx"),
    ("SSE4.2", "sse4.2"),
    ("SSSE3", "ssse3"),
)
ONEDNN_ISA = re.compile(r"onednn_verbose,(?:v\d+,)?info,cpu,isa:(.+)")

facts = {}


def put(name, function, *arguments):
    """Record the function's result and return it; record nothing if it fails, as where a thing is absent."""
    try:
        value = function(*arguments)
    except Exception:
        return None
    if value is not None:
        facts[name] = value
    return value


def first_line(*command):
    """The first line that a command prints. Raises if it fails."""
    process = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=True
    )
    return process.stdout.decode("utf-8", "replace").strip().splitlines()[0]


def os_name():
    """The operating system and its version, in its own words."""
    if sys.platform == "darwin":
        return "macOS " + platform.mac_ver()[0]
    if sys.platform == "win32":
        release, build = platform.win32_ver()[:2]
        # Older Pythons report Windows 11 as 10.
        release = "11" if release == "10" and int(build.split(".")[2]) >= 22000 else release
        return "Windows %s (%s)" % (release, build)
    with open("/usr/lib/os-release", encoding="utf-8") as file:
        fields = dict(line.strip().split("=", 1) for line in file if "=" in line)
    return fields["PRETTY_NAME"].strip('"')


def record_system():
    """Record the operating system, Python and compilers."""
    put("os.name", os_name)
    put("os.kernel", platform.release)
    put("os.machine", platform.machine)
    put("os.libc", lambda: " ".join(platform.libc_ver()).strip() or None)
    put("python.version", platform.python_version)
    put("python.implementation", platform.python_implementation)
    put("python.compiler", platform.python_compiler)
    put("python.bits", lambda: sys.maxsize.bit_length() + 1)
    # Without developer tools, macOS opens a window that offers to install them.
    for name in ("gcc", "clang", "cmake") if sys.platform != "darwin" else ():
        put("tool." + name, first_line, name, "--version")


def record_processor():
    """Record the CPU's model, flags and cores."""
    fields = {}
    for source in (read_linux_processor, read_macos_processor, read_windows_processor):
        try:
            fields = source()
            break
        except Exception:  # noqa: S112 - this is another system
            continue
    for name in ("model", "vendor", "family", "number", "stepping"):
        put("cpu." + name, fields.get, name)
    flags = set(fields.get("flags", ()))
    facts["cpu.flags"] = [flag for flag in CPU_FLAGS if flag in flags]
    put("cpu.cores", os.cpu_count)
    put("cpu.affinity", lambda: len(os.sched_getaffinity(0)))


def read_linux_processor():
    """Model, vendor, family, number and stepping as text, and flags.

    Raises on another system, as the next two.
    """
    fields = {}
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        for line in file:
            key, colon, value = line.partition(":")
            if not colon:
                break
            fields[key.strip()] = value.strip()
    ours = {
        "model": "model name",
        "vendor": "vendor_id",
        "family": "cpu family",
        "number": "model",
        "stepping": "stepping",
    }
    named = {name: fields[theirs] for name, theirs in ours.items() if theirs in fields}
    return dict(named, flags=(fields.get("flags") or fields.get("Features") or "").split())


def read_macos_processor():
    """The same from sysctl."""
    process = subprocess.run(
        ("sysctl", "machdep.cpu", "hw.optional"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    lines = process.stdout.decode("utf-8", "replace").splitlines()
    values = dict(line.split(": ", 1) for line in lines if ": " in line)
    fields = {"model": values["machdep.cpu.brand_string"]}
    names = {"vendor": "vendor", "family": "family", "number": "model", "stepping": "stepping"}
    for ours, theirs in names.items():
        if "machdep.cpu." + theirs in values:
            fields[ours] = values["machdep.cpu." + theirs]
    features = [values.get("machdep.cpu." + name, "") for name in ("features", "leaf7_features")]
    words = " ".join(features).lower().split()
    flags = {"avx" if word == "avx1.0" else word.replace(".", "_") for word in words}
    on = {
        name.rpartition(".")[2].lower()
        for name, value in values.items()
        if name.startswith("hw.optional.") and value.strip() == "1"
    }
    flags |= {MACOS_FLAGS[name] for name in on if name in MACOS_FLAGS}
    return dict(fields, flags=flags)


def read_windows_processor():
    """The same from the registry."""
    import winreg

    with winreg.OpenKey(
        winreg.HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0"
    ) as key:
        fields = {"model": winreg.QueryValueEx(key, "ProcessorNameString")[0].strip()}
        fields["vendor"] = winreg.QueryValueEx(key, "VendorIdentifier")[0].strip()
        identifier = winreg.QueryValueEx(key, "Identifier")[0]
    for name, word in {"family": "Family", "number": "Model", "stepping": "Stepping"}.items():
        match = re.search(word + " (\\d+)", identifier)
        if match:
            fields[name] = match.group(1)
    present = ctypes.windll.kernel32.IsProcessorFeaturePresent
    return dict(fields, flags={flag for flag, number in WINDOWS_FLAGS.items() if present(number)})


def record_packages():
    """Record the version of each installed package."""
    try:
        from importlib.metadata import distributions
    except ImportError:
        return
    for distribution in distributions():
        name = distribution.metadata["Name"]
        if name:
            facts.setdefault("package." + re.sub(r"[-_.]+", "-", name).lower(), distribution.version)


def capture_output(function):
    """The text that native libraries print on descriptor 1 while the function runs."""
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        stdout = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            function()
        finally:
            os.dup2(stdout, 1)
            os.close(stdout)
        file.seek(0)
        return file.read().decode("utf-8", "replace")


def sample(torch, rows, columns):
    """A float32 matrix of numbers between -0.5 and 0.5 with full mantissas, the same on every machine."""
    steps = torch.arange(rows * columns, dtype=torch.float64)
    return (torch.frac(steps * 0.6180339887498949) - 0.5).float().reshape(rows, columns)


def record_blas(torch):
    """Record which library multiplies matrices, and which of its code paths.

    MKL's banner names them. The bits of a product distinguish code paths that no banner names.
    """
    products = []
    # Small and large products use different kernels.
    pairs = [
        (sample(torch, rows, inner), sample(torch, inner, columns))
        for rows, inner, columns in ((4, 8, 16), (33, 129, 17))
    ]
    text = capture_output(lambda: products.extend((left @ right).contiguous() for left, right in pairs))
    banner = re.search(r"MKL_VERBOSE (?:oneMKL|Intel\(R\) MKL) (.*)", text)
    digest = hashlib.sha256()
    for product in products:
        digest.update(bytes(product.view(torch.uint8).flatten().tolist()))
    facts["blas.fingerprint"] = digest.hexdigest()[:16]
    match = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    library = "mkl" if banner else (match.group(1).lower() if match else "unknown")
    facts["blas.library"] = library
    path = library
    if banner:
        words = banner.group(1)
        put("blas.version", lambda: re.match(r"([\d.]+(?: Update \d+)?)", words).group(1))
        # On CPUs of other vendors MKL names no instruction set.
        isa = next((name for mark, name in MKL_ISA if mark in words), "unnamed")
        branch = re.search(r"CNR:(\S+)", text)
        path = "mkl:" + isa
        if branch:
            facts["blas.cnr"] = branch.group(1).lower()
            if branch.group(1) != "OFF":
                path = "mkl:" + branch.group(1).lower()
    elif library.startswith("open"):
        put("blas.core", openblas_core)
        path = library + ":" + str(facts.get("blas.core", "unknown")).lower()
    facts["blas.path"] = path


def openblas_core():
    """The CPU core that OpenBLAS has chosen its kernels for. Raises if it is not loaded."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        path = next(line.split()[-1] for line in file if "openblas" in line)
    function = ctypes.CDLL(path).openblas_get_corename
    function.restype = ctypes.c_char_p
    return function().decode("ascii")


def record_onednn(torch):
    """Record the instruction set that oneDNN uses."""
    text = capture_output(lambda: torch.ones(4, 4, 8, 8).to_mkldnn().relu().to_dense())
    match = ONEDNN_ISA.search(text)
    if match:
        facts["onednn.isa"] = match.group(1).strip()


def record_torch_build(torch):
    """Record how torch was built."""
    put("torch.version", lambda: str(torch.__version__))
    put("torch.git", lambda: torch.version.git_version)
    put("torch.debug", lambda: bool(torch.version.debug))
    put("torch.cuda_build", lambda: torch.version.cuda)
    put("torch.hip_build", lambda: torch.version.hip)
    put("torch.cpu_capability", lambda: torch.backends.cpu.get_cpu_capability())
    put("torch.mkl", lambda: torch.backends.mkl.is_available())
    put("torch.mkldnn", lambda: torch.backends.mkldnn.is_available())
    put("torch.openmp", lambda: torch.backends.openmp.is_available())
    put("torch.xnnpack", lambda: bool(torch.backends.xnnpack.enabled))
    put("torch.distributed", lambda: torch.distributed.is_available())
    put("torch.xpu", lambda: torch.xpu.is_available())
    put("torch.cxx11_abi", lambda: bool(torch._C._GLIBCXX_USE_CXX11_ABI))
    if sys.platform == "darwin":
        put("mps.available", lambda: torch.backends.mps.is_available())
    put("onednn.version", lambda: re.search(r"MKL-DNN v([\d.]+)", torch.__config__.show()).group(1))


def record_torch_flags(torch):
    """Record the flags that a target's settings change, as a script finds them after `import torch`."""
    native = torch._C
    put("threads.torch", torch.get_num_threads)
    put("threads.interop", torch.get_num_interop_threads)
    put(
        "threads.omp",
        lambda: int(re.search(r"omp_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info()).group(1)),
    )
    put(
        "threads.mkl",
        lambda: int(re.search(r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info()).group(1)),
    )
    put("deterministic.enabled", torch.are_deterministic_algorithms_enabled)
    put("deterministic.warn_only", torch.is_deterministic_algorithms_warn_only_enabled)
    put("deterministic.fill", lambda: bool(torch.utils.deterministic.fill_uninitialized_memory))
    put("default.dtype", lambda: str(torch.get_default_dtype()))
    put("default.device", lambda: str(torch.get_default_device()))
    put("tf32.matmul", native._get_cublas_allow_tf32)
    put("tf32.cudnn", native._get_cudnn_allow_tf32)
    put("float32_matmul_precision", torch.get_float32_matmul_precision)
    for name in ("cuda.matmul", "cuda.conv", "cuda.rnn", "mkldnn.matmul", "mkldnn.conv"):
        put("precision." + name, lambda: native._get_fp32_precision_getter(*name.split(".")))  # noqa: B023
    put("matmul.fp16_reduction", lambda: str(native._get_cublas_allow_fp16_reduced_precision_reduction()))
    put("matmul.bf16_reduction", lambda: str(native._get_cublas_allow_bf16_reduced_precision_reduction()))
    put("cudnn.enabled", lambda: torch.backends.cudnn.enabled)
    put("cudnn.benchmark", lambda: torch.backends.cudnn.benchmark)
    put("cudnn.deterministic", lambda: torch.backends.cudnn.deterministic)


def nvidia_driver():
    """The version of NVIDIA's driver; None if it does not answer."""
    library = ctypes.CDLL("nvml.dll" if sys.platform == "win32" else "libnvidia-ml.so.1")
    text = ctypes.create_string_buffer(96)
    if library.nvmlInit_v2() or library.nvmlSystemGetDriverVersion(text, 96):
        return None
    return text.value.decode("ascii", "replace")


def cuda_driver():
    """The newest version of CUDA that the driver supports; None if it does not answer."""
    number = ctypes.c_int()
    if ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1").cuDriverGetVersion(
        ctypes.byref(number)
    ):
        return None
    return "%d.%d" % (number.value // 1000, number.value % 1000 // 10)


def record_cards(torch):
    """Record CUDA, its libraries and the cards."""
    available = torch.cuda.is_available()
    facts["cuda.available"] = available
    put("cudnn.version", torch.backends.cudnn.version)
    put("nccl.version", lambda: ".".join(map(str, torch.cuda.nccl.version())) if torch.version.cuda else None)
    put("cuda.arch_list", lambda: torch.cuda.get_arch_list() or None)
    if not available:
        return
    put("gpu.driver", nvidia_driver)
    put("cuda.driver", cuda_driver)
    put("gpu.count", torch.cuda.device_count)
    put("gpu.allocator", torch.cuda.get_allocator_backend)
    for index in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(index)
        prefix = "gpu.%d." % index
        facts[prefix + "model"] = card.name
        facts[prefix + "capability"] = "%d.%d" % (card.major, card.minor)
        facts[prefix + "memory_bytes"] = card.total_memory
        facts[prefix + "multiprocessors"] = card.multi_processor_count


def main():
    """Record all facts and print them."""
    # The libraries read these at their first use, below. Neither variable changes a code path.
    os.environ["MKL_VERBOSE"] = "1"
    os.environ["ONEDNN_VERBOSE"] = "1"
    record_system()
    record_processor()
    record_packages()
    for name in VARIABLES:
        put("variable." + name, os.environ.get, name)
    try:
        import torch
    except Exception as error:
        facts["torch.import"] = type(error).__name__
    else:
        parts = {
            "torch_build": record_torch_build,
            "torch_state": record_torch_flags,
            "blas": record_blas,
            "onednn": record_onednn,
            "cards": record_cards,
        }
        for name, record in parts.items():
            try:
                record(torch)
            except Exception as error:  # noqa: PERF203
                facts["probe.failed." + name] = type(error).__name__
    print(json.dumps(facts, sort_keys=True))


main()
