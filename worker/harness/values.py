"""Captures the values that a script holds at its end, and the tensors that it formats while it runs.

`watch.py` loads it in the script's process, with the module `elements` among its globals. It imports neither
torch nor numpy. The only operation of torch that it calls is the copy from a card that is idle.
"""

import os
import sys
import time

elements = globals()["elements"]

MOST_FINAL = 64
MOST_PRINTED = 32
# Bytes to read of one value; a larger one is reported without digest, statistics and data.
FINAL_BYTES = 16 << 20
PRINTED_BYTES = 256 << 10
# Bytes to report as `data`: of one value, and of all.
DATA_BYTES = 4 << 10
ALL_DATA_BYTES = 64 << 10
FINAL_SECONDS = 0.25
PRINTED_SECONDS = 0.1
MAX_NAME = 200
MAX_DIMENSIONS = 64
MAX_INT_BITS = 8 * DATA_BYTES
NUMBERS = (bool, int, float, complex)
# After an exception with one of these in its message, a call to the card may never return.
CARD_TROUBLE = (
    "CUDA error", "CUDA driver error", "HIP error", "cuDNN error", "CUBLAS_STATUS", "CUSOLVER_STATUS",
    "NCCL error", "device-side",
)  # fmt: skip


class Value:
    """A value to report.

    `facts` has the keys of a captured value but `name`, `origin` and `data`. The elements are in `bytes`, or
    in memory at `region`; both are None if they can't be read. `code` is their format as in
    `elements.DTYPES`.
    """

    def __init__(self, kind, dtype, shape=(), device="cpu"):
        self.facts = {"of": kind, "dtype": dtype, "shape": list(shape), "device": device}
        self.region = self.bytes = None
        self.code = ""
        self.data = b""

    def read(self, limit):
        """Add `digest` and `statistics` to the facts, and keep up to DATA_BYTES of data.

        Does nothing if there are more than `limit` bytes. Raises OSError if the memory can't be read.
        """
        import hashlib

        chunks = None if self.bytes is None else [self.bytes]
        if self.region is not None:
            chunks = self.region.chunks(limit)
        if chunks is None:
            return
        digest, statistics, data, total = hashlib.sha256(), elements.Statistics(self.code), [], 0
        for chunk in chunks:
            digest.update(chunk)
            statistics.feed(chunk)
            total += len(chunk)
            if total <= DATA_BYTES:
                data.append(chunk)
        self.facts["digest"] = "sha256:" + digest.hexdigest()
        self.facts["statistics"] = statistics.facts()
        if total <= DATA_BYTES:
            self.data = b"".join(data)


def number(value):
    """The Value of a Python number. An int takes 8 bytes, or a multiple of 8 if it needs more."""
    import struct

    result = Value("number", type(value).__name__)
    if type(value) is bool:
        result.bytes, result.code = bytes([value]), "u1"
    elif type(value) is float:
        result.bytes, result.code = struct.pack("<d", value), "f8"
    elif type(value) is complex:
        result.bytes, result.code = struct.pack("<dd", value.real, value.imag), "c8"
    elif value.bit_length() < MAX_INT_BITS:
        length = 8 * (value.bit_length() // 64 + 1)
        result.bytes, result.code = value.to_bytes(length, "little", signed=True), "i8" if length == 8 else ""
    return result


def array(value):
    """The Value of a numpy array or scalar; None if its dtype is not numeric."""
    dtype = value.dtype
    if dtype.kind not in "biufc" or value.ndim > MAX_DIMENSIONS:
        return None
    scalar = type(value) is not sys.modules["numpy"].ndarray
    result = Value("number" if scalar else "array", dtype.name, value.shape)
    size, result.code = elements.DTYPES.get(dtype.name, (0, ""))
    if size != dtype.itemsize:
        return result
    if scalar:
        result.bytes = value.tobytes()
    else:
        result.region = elements.Region(
            value.__array_interface__["data"][0], value.shape, value.strides, size
        )
        if dtype.byteorder == ">":
            result.region.swapped = size // 2 if dtype.kind == "c" else size
    return result


def tensor(value, limit, until, *, cards=True):
    """The Value of a tensor; None for one that only looks like a plain tensor.

    `limit` is the most bytes to copy from a card, `until` the time (`time.monotonic`) until which to wait for
    it.
    """
    torch = sys.modules["torch"]
    native = torch._C
    # A tracer would record that we ask for the shape.
    if native._get_tracing_state() is not None:
        return None
    functorch = getattr(native, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(value):
        return None
    with native.DisableTorchFunction():
        result = Value("tensor", str(value.dtype), value.shape, str(value.device))
        if (
            value.layout is not torch.strided
            or value.is_quantized
            or value.device.type not in ("cpu", "cuda")
        ):
            return result
        if any(type(length) is not int for length in result.facts["shape"]) or value.dim() > MAX_DIMENSIONS:
            return None
        size, result.code = elements.DTYPES.get(result.facts["dtype"].replace("torch.", "", 1), (0, ""))
        if not size:
            return result
        if value.device.type == "cuda":
            try:
                value = from_card(torch, value, limit, until) if cards else None
            except Exception:
                value = None
        if value is not None:
            result.region = memory_of(native, value, size)
    return result


def memory_of(native, value, size):
    """The Region of a tensor's elements, each of `size` bytes.

    None if the storage is shorter than the tensor says, or if asking for its address would create it.
    """
    is_lazy = getattr(native, "_is_cow_tensor", None)
    if is_lazy is not None and is_lazy(value):
        return None
    strides = [stride * size for stride in value.stride()]
    region = elements.Region(0, list(value.shape), strides, size)
    storage = value.untyped_storage() if hasattr(value, "untyped_storage") else value.storage()
    available = storage.nbytes() if hasattr(storage, "nbytes") else storage.size() * storage.element_size()
    if value.storage_offset() * size + region.span > available:
        return None
    region.address = value.data_ptr()
    # Keeps a copy from a card alive until it is read.
    region.owner = value
    if hasattr(value, "is_conj"):
        conjugated, negated = value.is_conj(), value.is_neg()
        if conjugated or negated:
            half = size // 2 if value.is_complex() else size
            sign = b"\0" * (half - 1) + b"\x80"
            real = sign if negated else b"\0" * half
            imaginary = sign if conjugated != negated else b"\0" * half
            region.flip = real + imaginary if value.is_complex() else real
    return region


def from_card(torch, value, limit, until):
    """A copy on the CPU; None if it is too large, or if the card is still busy at `until`.

    Also None if a dispatch mode, a profiler, sync debugging or CUDA graph capture would notice the copy.
    """
    native, cuda = torch._C, torch.cuda
    modes = getattr(native, "_len_torch_dispatch_stack", None)
    profiling = getattr(torch.autograd, "_profiler_enabled", None)
    noticed = (modes is not None and modes()) or (profiling is not None and profiling())
    if noticed or value.numel() * value.element_size() > limit:
        return None
    if cuda.get_sync_debug_mode() or cuda.is_current_stream_capturing():
        return None
    stream = cuda.current_stream(value.device)
    while not stream.query():
        if time.monotonic() > until:
            return None
        time.sleep(0.0005)
    return value.detach().cpu()


class PrintedTensors:
    """Captures the tensors that are formatted, in order, in the process that created this object.

    `values`: list of Value. `omitted`: number of tensors left out. `seconds`: time that capturing took.
    """

    def __init__(self):
        self.pid = os.getpid()
        self.values = []
        self.omitted = 0
        self.seconds = 0.0
        self.busy = False
        self.set_eval_frame = None

    def see(self, value):
        """Capture a tensor while torch.compile's frame evaluation is off."""
        if self.set_eval_frame is None:
            self.capture(value)
            return
        prior = self.set_eval_frame(None)
        try:
            self.capture(value)
        finally:
            self.set_eval_frame(prior)

    def capture(self, value):
        """Capture a plain tensor, unless the limits are reached or something would notice it."""
        if type(value) is not sys.modules["torch"].Tensor and not is_parameter(value):
            return
        # A profiler or a tracer would count our calls.
        if self.busy or os.getpid() != self.pid or sys.getprofile() is not None or sys.gettrace() is not None:
            return
        if len(self.values) >= MOST_PRINTED or self.seconds > PRINTED_SECONDS:
            self.omitted += 1
            return
        self.busy = True
        began = time.monotonic()
        try:
            # Formatting waits for the card as well, so this wait delays nothing.
            captured = tensor(value, PRINTED_BYTES, began + PRINTED_SECONDS - self.seconds)
            if captured is not None:
                self.values.append(captured)
                # Now, because the memory may change later.
                read(captured, PRINTED_BYTES)
        finally:
            self.seconds += time.monotonic() - began
            self.busy = False

    def watch(self):
        """Have `see` called at each formatting, without a frame of ours on the stack when torch's code runs.

        `Tensor.__repr__` looks up `_str` in a module: the module gets a class in which `_str` is a property.
        """
        module = sys.modules["torch._tensor_str"]
        code = sys.modules["torch"].Tensor.__repr__.__code__
        names, see = vars(module), self.see

        class Module(type(module)):
            @property
            def _str(self):
                try:
                    caller = sys._getframe(1)
                    if caller.f_code is code:
                        see(caller.f_locals.get("self"))
                except Exception:
                    pass
                try:
                    return names["_str"]
                except KeyError:
                    pass
                raise AttributeError("module 'torch._tensor_str' has no attribute '_str'")

            @_str.setter
            def _str(self, function):
                names["_str"] = function

            @_str.deleter
            def _str(self):
                names.pop("_str", None)

        if not self.hide_from_compilation([Module._str.fget.__code__, self.see.__func__.__code__]):
            return
        Module.__name__ = Module.__qualname__ = "module"
        Module.__module__ = "builtins"
        module.__class__ = Module

    def hide_from_compilation(self, codes):
        """Have torch.compile skip these code objects. Returns False if this version of torch can't.

        Inside a compiled function it would else compile their frames.
        """
        compiler = getattr(sys.modules["torch"]._C, "_dynamo", None)
        if compiler is None:
            return True
        native = compiler.eval_frame
        skip = getattr(native, "skip_code", None)
        if skip is None and hasattr(native, "set_code_exec_strategy"):
            strategy = native._FrameExecStrategy(native._FrameAction.SKIP, native._FrameAction.DEFAULT)

            def skip(code):
                native.set_code_exec_strategy(code, strategy)

        self.set_eval_frame = getattr(native, "set_eval_frame", None)
        if skip is None or self.set_eval_frame is None:
            return False
        for code in codes:
            skip(code)
        return True


def is_parameter(value):
    """Whether the value is exactly a `torch.nn.Parameter`."""
    module = sys.modules.get("torch.nn.parameter")
    return module is not None and type(value) is getattr(module, "Parameter", None)


def read(value, limit):
    """Read a Value's elements; its facts stay as they are if that fails.

    Drops the reference to the script's memory.
    """
    try:
        value.read(limit)
    except Exception:
        pass
    finally:
        value.region = None


def is_value(value):
    """Whether this is exactly a number, tensor or array: a subclass may run code of its own."""
    kind = type(value)
    if kind in NUMBERS:
        return True
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if torch is not None and (kind is torch.Tensor or is_parameter(value)):
        return True
    return numpy is not None and (
        kind is numpy.ndarray
        or (kind.__module__ == "numpy" and issubclass(kind, (numpy.number, numpy.bool_)))
    )


def to_value(value, until, *, cards):
    """The Value of a number, tensor or array; None where there is nothing to report.

    See `tensor` for `until`.
    """
    kind = type(value)
    if kind in NUMBERS:
        return number(value)
    torch = sys.modules.get("torch")
    if torch is not None and (kind is torch.Tensor or is_parameter(value)):
        return tensor(value, FINAL_BYTES, until, cards=cards)
    return array(value)


def final_values(message):
    """The main module's global values in the order of definition, and how many were omitted.

    There are limits for their number and for the time. Each value is a tuple of name, "final" and Value.
    `message` is that of the exception that ended the script, or None.
    """
    until = time.monotonic() + FINAL_SECONDS
    cards = not any(trouble in (message or "") for trouble in CARD_TROUBLE)
    values, omitted = [], 0
    for name, value in list(vars(sys.modules["__main__"]).items()):
        try:
            if type(name) is not str or name.startswith("_") or not is_value(value):
                continue
            if len(values) >= MOST_FINAL or time.monotonic() > until:
                omitted += 1
                continue
            result = to_value(value, until, cards=cards)
            if result is not None:
                read(result, FINAL_BYTES)
                values.append((name, "final", result))
        except Exception:  # a value that fails must not hide the others
            omitted += 1
    return values, omitted


def messages(printed, error_message, report_bytes):
    """Yield the `value` lines of the report and the `values` line; each line is useful without the others.

    `printed` is a PrintedTensors or None, `error_message` that of the exception that ended the script or
    None. `report_bytes` is the space that is left for the lines; their data takes a quarter at most.
    """
    import binascii

    values, omitted = final_values(error_message)
    if printed is not None:
        values += [("print[%d]" % index, "printed", value) for index, value in enumerate(printed.values)]
        omitted += printed.omitted
    bytes_left = min(ALL_DATA_BYTES, report_bytes // 4)
    for name, origin, value in values:
        facts = dict(value.facts, kind="value", name=name[:MAX_NAME], origin=origin)
        if len(value.data) <= bytes_left:
            bytes_left -= len(value.data)
            facts["data"] = binascii.b2a_base64(value.data, newline=False).decode("ascii")
        yield facts
    yield {"kind": "values", "omitted": omitted}
