"""Computes beside a script, in float64, what its tensors would hold without rounding.

The script itself runs as it is: it sees its own tensors only. `shadow_steps.py` follows its operations. A
table here holds, for each storage, shadows of its elements:

- one in float64, the *reference*;
- two for which each value that the script began with was moved by one unit in the last place (ULP);
- two for which each step's result was moved at random by up to one ULP of the script's dtype;
- the script's own values, for which an operation gives what it should have given on its own inputs.

Views need no step of their own, since they share a storage. Whatever is written to a storage out of sight
(through numpy, or by a kernel that torch doesn't know) differs from the copy that the table has, element by
element, and its shadows restart from the script's value. Integers and bools are the script's own.
"""

import ctypes
import math
import os
import threading
import time

import torch
from torch.multiprocessing.reductions import StorageWeakRef

# `trace.py` gives it: all tensors in nested lists and tuples.
tensors_of = globals()["tensors_of"]
# One of these limits ends the shadow, never the script.
SHADOW_BYTES = 256 << 20
SHADOW_SECONDS = 20.0
REFERENCE, MOVED, ROUNDED, OWN = 0, (1, 2), (3, 4), 5
COPIES = 6
# Random numbers that serve many times, each time from another place on.
NOISE = 1 << 16
MOST_RESTARTS = 10
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
WIDE = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), torch.float64),
    **dict.fromkeys((torch.complex64, torch.complex128), torch.complex128),
}
# Arguments that are written to although the schema doesn't say so.
WRITTEN = {"running_mean", "running_var"}


SAME_BYTES = ctypes.CDLL(None).memcmp
SAME_BYTES.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class FullError(Exception):
    """A budget is used up; the first argument names it: "bytes" or "seconds"."""


def is_number(tensor):
    """Whether the elements are floating-point or complex, of a dtype that has a shadow."""
    return tensor.dtype in WIDE


def is_dense(tensor):
    """Whether the elements lie in memory one by one, on a device that computes."""
    return (
        tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_quantized
        and tensor.device.type in ("cpu", "cuda")
    )


def is_unmade(tensor):
    """Whether it stands for zeros without memory, as derivatives in forward mode do. Reading it crashes."""
    return tensor._is_zerotensor()


def storage_of(tensor):
    """The storage, untyped."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()._untyped()


def flat(tensor):
    """All elements of the tensor's storage, as a flat tensor of its real dtype that shares the memory."""
    empty = torch.empty(0, dtype=REAL.get(tensor.dtype, tensor.dtype), device=tensor.device)
    return empty.set_(storage_of(tensor))


def region(elements, tensor):
    """The part of a flat tensor that lies as the tensor in its storage, complex numbers as pairs."""
    shape, strides, at = list(tensor.shape), list(tensor.stride()), tensor.storage_offset()
    if tensor.is_complex():
        shape, strides, at = [*shape, 2], [*(2 * stride for stride in strides), 1], 2 * at
    return elements.as_strided(shape, strides, at)


def rows_region(rows, tensor):
    """The parts of rows of flat elements that lie as the tensor in its storage, complex numbers as pairs."""
    shape, strides, at = list(tensor.shape), list(tensor.stride()), tensor.storage_offset()
    if tensor.is_complex():
        shape, strides, at = [*shape, 2], [*(2 * stride for stride in strides), 1], 2 * at
    return rows.as_strided([len(rows), *shape], [rows.stride(0), *strides], at)


def real_parts(tensor):
    """The tensor itself, or a complex tensor's parts along a last axis of 2."""
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj().resolve_neg())
    return tensor.resolve_neg()


def is_broken(value):
    """Whether a number of Python has a fraction: whole ones, such as exponents, are meant exactly."""
    return math.isfinite(value) and value != int(value)


def bits(tensor):
    """The elements' bits as integers, so that NaN compare, too."""
    kinds = {2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(kinds[tensor.element_size()])


def unit_of(values, dtype):
    """The distance to the next number of a dtype, for float64 values; NaN where a value is not finite."""
    limits = torch.finfo(REAL.get(dtype, dtype))
    exponents = torch.frexp(values)[1]
    units = torch.ldexp(torch.full_like(values, limits.eps / 2), exponents.to(values.dtype))
    return torch.where(torch.isfinite(values), units.clamp(min=limits.tiny * limits.eps), values * 0)


class Entry:
    """The shadows of one storage, one in each row of `copies`.

    `plain`: the elements that they stand for; `origin` keeps its name.
    """

    def __init__(self, origin, plain, copies):
        self.origin, self.plain, self.copies = origin, plain, copies
        self.on_cpu = plain.device.type == "cpu"
        self.at, self.item, self.length = plain.data_ptr(), plain.element_size(), plain.numel()
        self.shaped = {}

    def is_sure(self, tensor):
        """Whether the script's elements are surely those of `plain`, bit for bit. False: look closer."""
        if not self.on_cpu or self.origin.expired():
            return False
        if tensor.dtype is not self.plain.dtype or not tensor.is_contiguous():
            return False
        offset, length = tensor.storage_offset(), tensor.numel()
        if offset + length > self.length:
            return False
        return not SAME_BYTES(tensor.data_ptr(), self.at + offset * self.item, length * self.item)

    def view(self, tensor):
        """The parts of the shadows that lie as a tensor in its storage, complex numbers as pairs."""
        key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
        view = self.shaped.get(key)
        if view is None:
            view = self.shaped[key] = rows_region(self.copies, tensor)
        return view

    def bytes(self):
        """The memory that the entry takes."""
        return self.plain.numel() * (self.plain.element_size() + 8 * len(self.copies))


class Step:
    """One operation under way. `shadow_steps.py` adds the shadows of its inputs."""

    def __init__(self, number, func, args, kwargs, kind):
        self.number, self.func, self.args, self.kwargs, self.kind = number, func, args, kwargs, kind
        self.name = func._schema.name
        self.proved = False
        # The result of an operation on integers in float64.
        self.exact = None


class Shadow:
    """The table of shadows.

    `restarts`: where the reference began again. `decisions`: comparisons and casts that float64 would answer
    differently. `undefined`: casts of what the integer type can't hold. `overflowed`: integer arithmetic
    beyond its type. `stopped`: (operation, budget), or
    None.
    """

    def __init__(self):
        self.lock, self.pid = threading.RLock(), os.getpid()
        self.table = {}
        # Storages with one of several right answers, and what keeps their names.
        self.free = {}
        # `free_choices`: those of the restarts where several answers are right.
        self.restarts, self.restart_count, self.free_choices = [], 0, 0
        self.decisions, self.undefined, self.overflowed = [], [], []
        # Where `unwritten.py` saw that memory was read which nobody had written.
        self.unwritten = []
        self.stopped = None
        self.bytes = 0
        self.seconds = 0.0
        self.generators, self.pools = {}, {}
        self.noise_at = 0

    def run(self, number, name, action, *arguments):
        """The action's result; None if it fails, which is a restart, or if a budget is used up."""
        if self.stopped is not None or os.getpid() != self.pid:
            return None
        began = time.monotonic()
        with self.lock:
            grad = torch.is_grad_enabled()
            try:
                if torch.is_inference_mode_enabled():
                    with torch.inference_mode(False), torch.no_grad():
                        return action(*arguments)
                # As `no_grad` does, which takes longer.
                torch._C._set_grad_enabled(False)
                return action(*arguments)
            except FullError as full:
                self.stop(number, str(full))
            except Exception:
                self.restart(number, name, "not in float64")
            finally:
                torch._C._set_grad_enabled(grad)
                self.seconds += time.monotonic() - began
                if self.seconds > SHADOW_SECONDS and self.stopped is None:
                    self.stop(number, "seconds")
        return None

    def stop(self, number, budget):
        """End the shadow, and free its memory. Values that were shown before keep their reference."""
        self.stopped = (number, budget)
        self.table.clear()

    def restart(self, number, name, why):
        """Note that the reference begins again at an operation."""
        self.restart_count += 1
        self.free_choices += why == "several right answers"
        if len(self.restarts) < MOST_RESTARTS:
            self.restarts.append({"number": number, "name": name, "why": why})

    def choose(self, tensor):
        """Note that a tensor has one of several right answers, such as singular vectors with their signs."""
        storage = storage_of(tensor)
        self.free[storage._cdata] = StorageWeakRef(storage)

    def is_free(self, tensor):
        """Whether a tensor, or what it is a part of, has one of several right answers."""
        origin = self.free.get(storage_of(tensor)._cdata)
        return origin is not None and not origin.expired()

    def facts(self):
        """The keys of the report's `shadow` that the table knows."""
        number, budget = self.stopped or (None, None)
        return {
            "restarts": self.restarts,
            "restart_count": self.restart_count,
            "free_choices": self.free_choices,
            "decisions": self.decisions,
            "undefined": self.undefined,
            "overflowed": self.overflowed,
            "unwritten": self.unwritten,
            "stopped_at": number,
            "stopped_by": budget,
            "seconds": self.seconds,
        }

    def generator(self, device):
        """Our own random numbers on a device: the script's draws stay as they are."""
        if device not in self.generators:
            self.generators[device] = torch.Generator(device).manual_seed(0)
        return self.generators[device]

    def move(self, values, dtype):
        """Float64 values moved by one unit of the dtype, up or down; zeros and what is not finite stay."""
        up = torch.rand(values.shape, generator=self.generator(values.device), device=values.device) < 0.5
        unit = unit_of(values, dtype)
        return torch.where(
            torch.isfinite(values) & (values != 0), values + torch.where(up, unit, -unit), values
        )

    def add_rounding(self, values, sizes, dtype):
        """The values, each moved at random by up to one rounding of a number of this size in the dtype."""
        unit = torch.finfo(REAL.get(dtype, dtype)).eps
        # An infinity, as in a mask, is not rounded: infinity less infinity is no number.
        sizes = sizes.nan_to_num(0.0, 0.0, 0.0)
        return values + sizes * unit * self.noise(values.shape, values.device)

    def round_in_place(self, values, sizes, dtype):
        """As `add_rounding`, into `values` themselves, which are real. `sizes` None: by their own sizes."""
        unit = torch.finfo(dtype).eps
        noise = self.noise(values.shape, values.device)
        sizes = (values if sizes is None else sizes).nan_to_num(0.0, 0.0, 0.0)
        values.addcmul_(sizes, noise, value=unit)

    def noise(self, shape, device):
        """Random numbers from -1 to 1."""
        length = shape.numel()
        if 2 * length > NOISE:
            part = torch.rand(shape, generator=self.generator(device), device=device, dtype=torch.float64)
            return part.mul_(2).sub_(1)
        if device not in self.pools:
            pool = torch.rand(NOISE, generator=self.generator(device), device=device, dtype=torch.float64)
            self.pools[device] = pool.mul_(2).sub_(1)
        # A generator of its own: the script's draws stay as they are.
        self.noise_at = (self.noise_at * 1103515245 + 12345) % (1 << 31)
        start = (self.noise_at >> 8) % (NOISE - length)
        return self.pools[device][start : start + length].view(shape)

    def sweep(self):
        """Remove storages that the script has freed."""
        for key in [key for key, entry in self.table.items() if entry.origin.expired()]:
            del self.table[key]
        self.bytes = sum(entry.bytes() for entry in self.table.values())

    def make_room(self, elements, itemsize):
        """Raise FullError if so many more elements do not fit."""
        needed = elements * (itemsize + 8 * COPIES)
        if self.bytes + needed > SHADOW_BYTES:
            self.sweep()
        if self.bytes + needed > SHADOW_BYTES:
            raise FullError("bytes")
        self.bytes += needed

    def begin(self, tensor):
        """The Entry of a storage that is seen for the first time: its shadows are the script's values."""
        plain = flat(tensor)
        self.make_room(plain.numel(), plain.element_size())
        # A copy even of float64: the script's own memory must never be written to.
        wide = plain.to(torch.float64, copy=True)
        return self.put(tensor, plain.clone(), self.fresh(wide, plain.dtype))

    def fresh(self, values, dtype):
        """New shadows of float64 values, one in each row."""
        copies = values.expand(COPIES, *values.shape).clone(memory_format=torch.contiguous_format)
        moved = copies[MOVED[0] : MOVED[-1] + 1]
        moved.copy_(self.move(moved, dtype))
        return copies

    def has(self, tensor):
        """Whether there are shadows of a tensor's storage."""
        is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and is_dense(tensor)
        return is_plain and storage_of(tensor)._cdata in self.table

    def put(self, tensor, plain, copies):
        """Store the shadows of a tensor's storage."""
        storage = storage_of(tensor)
        entry = Entry(StorageWeakRef(storage), plain, copies)
        self.table[storage._cdata] = entry
        return entry

    def entry(self, tensor, *, step=None):
        """The Entry of a tensor's storage. Elements that changed out of sight start again."""
        entry = self.table.get(storage_of(tensor)._cdata)
        if entry is not None and entry.is_sure(tensor):
            return entry
        present = flat(tensor)
        if entry is None or entry.origin.expired() or not same_kind(entry.plain, present):
            return self.begin(tensor)
        before, now = region(entry.plain, tensor), region(present, tensor)
        if torch.equal(bits(before), bits(now)):
            return entry
        if step is not None:
            self.restart(step.number, step.name, "an input changed out of sight")
        stays = bits(before) == bits(now)
        part = rows_region(entry.copies, tensor)
        part.copy_(torch.where(stays, part, self.fresh(now.double(), now.dtype)))
        before.copy_(now)
        return entry

    def views(self, tensor, **how):
        """The shadows of a tensor, one in each row, in float64 or complex128."""
        if is_unmade(tensor):
            return torch.zeros((COPIES, *tensor.shape), dtype=WIDE[tensor.dtype], device=tensor.device)
        view = self.entry(tensor, **how).view(tensor)
        if tensor.is_complex():
            view = torch.view_as_complex(view)
            view = view.conj() if tensor.is_conj() else view
        return torch._neg_view(view) if tensor.is_neg() else view

    def forget(self, tensors):
        """Drop the shadows of these tensors' storages: they restart at their next use."""
        for tensor in tensors:
            if is_dense(tensor) and not is_unmade(tensor):
                self.table.pop(storage_of(tensor)._cdata, None)


def same_kind(one, other):
    """Whether both flat tensors have the same dtype and length, and are on one device."""
    return one.dtype == other.dtype and one.numel() == other.numel() and one.device == other.device
