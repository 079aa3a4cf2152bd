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

# `trace.py` gives these: all tensors in nested lists and tuples, `noise.py` and `literals.py`.
tensors_of, noise, literals = (globals()[name] for name in ("tensors_of", "noise", "literals"))
REAL, unit_of = noise.REAL, noise.unit_of
# One of these limits ends the shadow, never the script.
SHADOW_BYTES = 256 << 20
SHADOW_SECONDS = 20.0
# Shadows of what the script has freed are removed after so many bytes.
SWEPT_BYTES = 1 << 20
REFERENCE, MOVED, ROUNDED, OWN = 0, (1, 2), (3, 4), 5
COPIES = 6
MOST_RESTARTS = 10
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


def is_whole(tensor):
    """Whether a real tensor is all of its storage, element by element."""
    if tensor.dtype not in noise.EPSILON or tensor.is_neg() or not tensor.is_contiguous():
        return False
    return storage_of(tensor).nbytes() == tensor.numel() * tensor.element_size()


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


class Entry:
    """The shadows of one storage, one in each row of `copies`.

    `plain`: the elements that they stand for; `origin` keeps its name. `snapshots.py` gives parts of `plain`
    away in `lent`: then nobody may write to it.
    """

    def __init__(self, origin, plain, copies):
        self.origin, self.copies = origin, copies
        # The operation that gave the elements; empty for what the script began with. And see `formulas.py`.
        self.maker, self.formula = "", 0
        # How often torch counted a change of them, by the tensor that was used last.
        self.version = 0
        self.on_cpu = plain.device.type == "cpu"
        self.item, self.length = plain.element_size(), plain.numel()
        self.shaped = {}
        self.hold(plain)

    def hold(self, plain):
        """Stand for these elements from now on."""
        self.plain, self.at, self.lent = plain, plain.data_ptr(), {}

    def own_plain(self):
        """The elements, to write to: a copy if some were given away."""
        if self.lent:
            self.hold(self.plain.clone())
        return self.plain

    def renew(self, tensor):
        """Stand for what an operation has written to a tensor of the storage."""
        if tensor.numel() == self.length and tensor.is_contiguous() and not tensor.is_complex():
            if not tensor.is_neg():
                if self.lent:
                    self.hold(tensor.clone().view(-1))
                else:
                    self.plain.copy_(tensor.view(-1))
                return
        present = tensor
        if tensor.is_complex() or tensor.is_neg():
            present = region(flat(tensor), tensor)
        region(self.own_plain(), tensor).copy_(present)

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

    def put_view(self, tensor, view):
        """Store what `view` would make of a tensor that is the whole storage."""
        self.shaped[tensor.dtype, tensor.shape, tensor.stride(), 0] = view

    def bytes(self):
        """The memory that the entry takes."""
        return self.plain.numel() * (self.plain.element_size() + 8 * len(self.copies))


class Step:
    """One operation under way. `shadow_steps.py` adds the shadows of its inputs."""

    def __init__(self, number, call):
        self.number, self.args, self.kwargs = number, call.args, call.kwargs
        self.func, self.kind = call.known.func, call.known.kind
        self.name = self.kind.full_name
        self.proved = self.finite = False
        # The Entry that has the elements of each tensor, by its id.
        self.entries = {}
        # The script's results in float64, by their ids.
        self.wide = {}
        # The result of an operation on integers in float64; its other answer, if rounding decides it.
        self.exact = self.follows = None

    def double(self, tensor):
        """A result of the script in float64."""
        if id(tensor) not in self.wide:
            self.wide[id(tensor)] = tensor.double()
        return self.wide[id(tensor)]


class Shadow:
    """The table of shadows.

    `restarts`: where the reference began again. `decisions`: comparisons and casts that float64 would answer
    differently. `undefined`: casts of what the integer type can't hold. `overflowed`: integer arithmetic
    beyond its type. `of_itself`: differences of a tensor with itself. `stopped`: (operation, budget), or
    None.
    """

    def __init__(self):
        self.lock, self.pid = threading.RLock(), os.getpid()
        self.table = {}
        # Storages with one of several right answers, and what keeps their names.
        self.free = {}
        # `free_choices`: those of the restarts where several answers are right.
        self.restarts, self.restart_count, self.free_choices = [], 0, 0
        self.decisions, self.undefined, self.overflowed, self.of_itself = [], [], [], []
        # Where `unwritten.py` saw that memory was read which nobody had written.
        self.unwritten = []
        self.stopped = None
        # Whether each step gave the nearest numbers of its type.
        self.all_nearest = True
        self.bytes, self.sweep_at = 0, SWEPT_BYTES
        self.seconds = 0.0
        self.noise, self.literals = noise.Noise(), literals.Literals()

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
            "of_itself": self.of_itself,
            "unwritten": self.unwritten,
            "nearest": self.all_nearest,
            "stopped_at": number,
            "stopped_by": budget,
            "seconds": self.seconds,
        }

    def sweep(self):
        """Remove storages that the script has freed."""
        for key in [key for key, entry in self.table.items() if entry.origin.expired()]:
            del self.table[key]
        self.bytes = sum(entry.bytes() for entry in self.table.values())
        # Memory that is used again soon is still in the processor's cache.
        self.sweep_at = min(SHADOW_BYTES, 2 * self.bytes + SWEPT_BYTES)

    def make_room(self, elements, itemsize):
        """Raise FullError if so many more elements do not fit."""
        needed = elements * (itemsize + 8 * COPIES)
        if self.bytes + needed > self.sweep_at:
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
        moved = copies[MOVED[0] : ROUNDED[0]]
        moved.copy_(self.noise.move(moved, dtype))
        self.literals.round(copies[ROUNDED[0] : OWN], dtype)
        return copies

    def has(self, tensor):
        """Whether there are shadows of a tensor's storage."""
        is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and is_dense(tensor)
        return is_plain and storage_of(tensor)._cdata in self.table

    def maker_of(self, tensor, *, name=False):
        """The formula that gave a storage's elements, or the name of the operation; empty if none did."""
        entry = self.table.get(storage_of(tensor)._cdata)
        return "" if entry is None else entry.maker if name else entry.formula or entry.maker

    def put(self, tensor, plain, copies):
        """Store the shadows of a tensor's storage."""
        storage = storage_of(tensor)
        entry = Entry(StorageWeakRef(storage), plain, copies)
        self.table[storage._cdata] = entry
        return entry

    def entry(self, tensor, *, step=None):
        """The Entry of a tensor's storage. Elements that changed out of sight start again."""
        entry = self.table.get(storage_of(tensor)._cdata)
        if entry is None or not entry.is_sure(tensor):
            entry = self.compare(entry, tensor, step)
        if step is not None:
            step.entries[id(tensor)] = entry
        return entry

    def compare(self, entry, tensor, step):
        """The Entry of a tensor whose elements may not be those that the table has."""
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
        region(entry.own_plain(), tensor).copy_(now)
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
