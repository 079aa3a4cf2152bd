"""Captures the values that a script holds at its end, and the tensors that it formats while it runs.

Loaded by the harness in the script's process, with `elements` in its names. It imports neither torch nor numpy, and calls no operation of
torch but the copy from a card that has nothing else to do.
"""

import os
import sys
import time

elements = globals()["elements"]

MOST_FINAL = 64
MOST_PRINTED = 32
# Read per value; of what is larger only the facts are told.
FINAL_BYTES = 16 << 20
PRINTED_BYTES = 256 << 10
# Told whole: of one value, and of all.
KEPT_BYTES = 4 << 10
ALL_KEPT_BYTES = 64 << 10
FINAL_SECONDS = 0.25
PRINTED_SECONDS = 0.1
MAX_NAME = 200
MAX_DIMENSIONS = 64
MAX_INT_BITS = 8 * KEPT_BYTES
NUMBERS = (bool, int, float, complex)
# An exception with one of these in its message may have left the card in a state in which no call returns.
CARD_TROUBLE = (
    "CUDA error",
    "CUDA driver error",
    "HIP error",
    "cuDNN error",
    "CUBLAS_STATUS",
    "CUSOLVER_STATUS",
    "NCCL error",
    "device-side",
)


class Value:
    """One that will be told: its facts, and where its elements are; those that lie in no memory of their own come as bytes."""

    def __init__(self, kind, dtype, shape=(), device="cpu"):
        self.told = {"of": kind, "dtype": dtype, "shape": list(shape), "device": device}
        self.region = self.bytes = None
        self.code = ""
        self.data = b""

    def read(self, limit):
        """Digest and statistics, where the elements can be had."""
        import hashlib

        chunks = (
            [self.bytes]
            if self.bytes is not None
            else self.region.chunks(limit)
            if self.region is not None
            else None
        )
        if chunks is None:
            return
        digest, statistics, kept, total = hashlib.sha256(), elements.Statistics(self.code), [], 0
        for chunk in chunks:
            digest.update(chunk)
            statistics.feed(chunk)
            total += len(chunk)
            if total <= KEPT_BYTES:
                kept.append(chunk)
        self.told["digest"] = "sha256:" + digest.hexdigest()
        self.told["statistics"] = statistics.facts()
        if total <= KEPT_BYTES:
            self.data = b"".join(kept)


def number(value):
    """Of Python; an int takes 8 bytes, or as many times 8 as it needs."""
    import struct

    found = Value("number", type(value).__name__)
    if type(value) is bool:
        found.bytes, found.code = bytes([value]), "u1"
    elif type(value) is float:
        found.bytes, found.code = struct.pack("<d", value), "f8"
    elif type(value) is complex:
        found.bytes, found.code = struct.pack("<dd", value.real, value.imag), "c8"
    elif value.bit_length() < MAX_INT_BITS:
        length = 8 * (value.bit_length() // 64 + 1)
        found.bytes, found.code = value.to_bytes(length, "little", signed=True), "i8" if length == 8 else ""
    return found


def array(value):
    """Of numpy: an array or a scalar, of a numeric type."""
    dtype = value.dtype
    if dtype.kind not in "biufc" or value.ndim > MAX_DIMENSIONS:
        return None
    scalar = type(value) is not sys.modules["numpy"].ndarray
    found = Value("number" if scalar else "array", dtype.name, value.shape)
    size, found.code = elements.DTYPES.get(dtype.name, (0, ""))
    if size != dtype.itemsize:
        return found
    if scalar:
        found.bytes = value.tobytes()
    else:
        found.region = elements.Region(value.__array_interface__["data"][0], value.shape, value.strides, size)
        if dtype.byteorder == ">":
            found.region.swapped = size // 2 if dtype.kind == "c" else size
    return found


def tensor(value, limit, until, *, cards=True):
    """Its facts, and its elements where they lie in plain memory. None for one that only looks like a plain tensor."""
    torch = sys.modules["torch"]
    native = torch._C
    # Asking a tensor that is being traced for its shape becomes a part of what is traced.
    if native._get_tracing_state() is not None:
        return None
    functorch = getattr(native, "_functorch", None)
    if functorch is not None and functorch.is_functorch_wrapped_tensor(value):
        return None
    with native.DisableTorchFunction():
        found = Value("tensor", str(value.dtype), value.shape, str(value.device))
        if (
            value.layout is not torch.strided
            or value.is_quantized
            or value.device.type not in ("cpu", "cuda")
        ):
            return found
        if any(type(length) is not int for length in found.told["shape"]) or value.dim() > MAX_DIMENSIONS:
            return None
        size, found.code = elements.DTYPES.get(found.told["dtype"].replace("torch.", "", 1), (0, ""))
        if not size:
            return found
        if value.device.type == "cuda":
            try:
                value = from_card(torch, value, limit, until) if cards else None
            except Exception:
                value = None
        if value is not None:
            found.region = memory_of(native, value, size)
    return found


def memory_of(native, value, size):
    """None where the storage is shorter than the tensor says, or would have to be made by our asking for it."""
    is_lazy = getattr(native, "_is_cow_tensor", None)
    if is_lazy is not None and is_lazy(value):
        return None
    strides = [stride * size for stride in value.stride()]
    region = elements.Region(0, list(value.shape), strides, size)
    storage = value.untyped_storage() if hasattr(value, "untyped_storage") else value.storage()
    held = storage.nbytes() if hasattr(storage, "nbytes") else storage.size() * storage.element_size()
    if value.storage_offset() * size + region.span > held:
        return None
    region.address = value.data_ptr()
    # A copy from a card lives as long as it is read.
    region.owner = value
    if hasattr(value, "is_conj"):
        conjugated, negated = value.is_conj(), value.is_neg()
        if conjugated or negated:
            half = size // 2 if value.is_complex() else size
            sign = b"\0" * (half - 1) + b"\x80"
            real = sign if negated else b"\0" * half
            region.flip = (
                real + (sign if conjugated != negated else b"\0" * half) if value.is_complex() else real
            )
    return region


def from_card(torch, value, limit, until):
    """A copy, if the card is in order and has finished what it was given; it never waits for long and disturbs no recording."""
    native, cuda = torch._C, torch.cuda
    modes = getattr(native, "_len_torch_dispatch_stack", None)
    profiling = getattr(torch.autograd, "_profiler_enabled", None)
    if (
        value.numel() * value.element_size() > limit
        or (modes is not None and modes())
        or (profiling is not None and profiling())
    ):
        return None
    if cuda.get_sync_debug_mode() or cuda.is_current_stream_capturing():
        return None
    stream = cuda.current_stream(value.device)
    while not stream.query():
        if time.monotonic() > until:
            return None
        time.sleep(0.0005)
    return value.detach().cpu()


class Shown:
    """The tensors that were formatted, in order. Only in the process that it was made in."""

    def __init__(self):
        self.pid = os.getpid()
        self.values = []
        self.omitted = 0
        self.seconds = 0.0
        self.busy = False
        self.set_eval_frame = None

    def see(self, value):
        """Whatever it calls is nothing that torch.compile should look at."""
        if self.set_eval_frame is None:
            self.keep(value)
            return
        prior = self.set_eval_frame(None)
        try:
            self.keep(value)
        finally:
            self.set_eval_frame(prior)

    def keep(self, value):
        if type(value) is not sys.modules["torch"].Tensor and not is_parameter(value):
            return
        # A profiler or a tracer would count what we do.
        if self.busy or os.getpid() != self.pid or sys.getprofile() is not None or sys.gettrace() is not None:
            return
        if len(self.values) >= MOST_PRINTED or self.seconds > PRINTED_SECONDS:
            self.omitted += 1
            return
        self.busy = True
        began = time.monotonic()
        try:
            # What formats it waits for the card as well.
            found = tensor(value, PRINTED_BYTES, began + PRINTED_SECONDS - self.seconds)
            if found is not None:
                self.values.append(found)
                # Outside of what its memory holds nothing can be said later: it may change.
                read(found, PRINTED_BYTES)
        finally:
            self.seconds += time.monotonic() - began
            self.busy = False

    def watch(self):
        """Be told of each formatting without a frame of ours on the stack: `Tensor.__repr__` looks `_str` up in a module."""
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
        """Inside a compiled function torch.compile takes up every Python frame that it was not told to leave alone."""
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
    module = sys.modules.get("torch.nn.parameter")
    return module is not None and type(value) is getattr(module, "Parameter", None)


def read(value, limit):
    """Leaves the facts alone where memory can't be had or read; nothing of the script's is held on to."""
    try:
        value.read(limit)
    except Exception:
        pass
    finally:
        value.region = None


def is_value(value):
    """A number, tensor or array, exactly: what is derived from them has behaviour of its own."""
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


def look(value, until, *, cards):
    """What will be told of a value; None where there is nothing to tell."""
    kind = type(value)
    if kind in NUMBERS:
        return number(value)
    torch = sys.modules.get("torch")
    if torch is not None and (kind is torch.Tensor or is_parameter(value)):
        return tensor(value, FINAL_BYTES, until, cards=cards)
    return array(value)


def final_values(message):
    """Of the main module's top level, in the order of definition, as long as there is time; and how many more there were."""
    until = time.monotonic() + FINAL_SECONDS
    cards = not any(trouble in (message or "") for trouble in CARD_TROUBLE)
    found, omitted = [], 0
    for name, value in list(vars(sys.modules["__main__"]).items()):
        try:
            if type(name) is not str or name.startswith("_") or not is_value(value):
                continue
            if len(found) >= MOST_FINAL or time.monotonic() > until:
                omitted += 1
                continue
            seen = look(value, until, cards=cards)
            if seen is not None:
                read(seen, FINAL_BYTES)
                found.append((name, "final", seen))
        except Exception:  # one that can't be looked at hides no other
            omitted += 1
    return found, omitted


def messages(shown, trouble, room):
    """What to send, in lines that are worth something each by itself; `room` is about how many bytes they may take."""
    import binascii

    found, omitted = final_values(trouble)
    if shown is not None:
        found += [("print[%d]" % index, "printed", value) for index, value in enumerate(shown.values)]
        omitted += shown.omitted
    left = min(ALL_KEPT_BYTES, room // 4)
    for name, origin, value in found:
        told = dict(value.told, kind="value", name=name[:MAX_NAME], origin=origin)
        if len(value.data) <= left:
            left -= len(value.data)
            told["data"] = binascii.b2a_base64(value.data, newline=False).decode("ascii")
        yield told
    yield {"kind": "values", "omitted": omitted}
