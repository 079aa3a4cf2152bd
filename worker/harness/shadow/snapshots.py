"""Gives the elements of tensors as they are now, without a copy where the table of shadows has one.

`trace.py` loads it, with `shadow`.
"""

import torch

shadow = globals()["shadow"]

# A part of a larger storage is copied: else the whole of it would be kept.
MOST_TIMES = 4


class Snapshots:
    """`copy` copies a tensor to the CPU. `bytes` counts the memory that snapshots take."""

    def __init__(self, table, copy):
        self.table, self.copy, self.bytes = table, copy, 0

    def of(self, step):
        """A function that gives a tensor's elements on the CPU; `step`: the operation under way, or None."""

        def take(tensor):
            entry = None if step is None else self.lendable(step, tensor)
            return self.copy_of(tensor) if entry is None else self.lent(entry, tensor)

        return take

    def copy_of(self, tensor):
        """A copy of a tensor."""
        self.bytes += tensor.numel() * tensor.element_size()
        return self.copy(tensor)

    def lendable(self, step, tensor):
        """The Entry that has the elements of a tensor now; None if there is none."""
        entry = step.entries.get(id(tensor))
        if entry is None or tensor.dtype is not entry.plain.dtype or tensor.is_neg():
            return None
        if entry.length > MOST_TIMES * tensor.numel() or not is_laid_out_once(tensor):
            return None
        return entry

    def lent(self, entry, tensor):
        """The part of the table's elements that lies as the tensor. Nobody writes to it any more."""
        key = (tensor.shape, tensor.stride(), tensor.storage_offset())
        snapshot = entry.lent.get(key)
        if snapshot is None:
            snapshot = entry.plain.as_strided(*key)
            if not entry.on_cpu:
                snapshot = snapshot.to("cpu", copy=True)
            if not entry.on_cpu or not entry.lent:
                self.bytes += snapshot.numel() * snapshot.element_size()
            entry.lent[key] = snapshot
        return snapshot


def is_laid_out_once(tensor):
    """Whether no two elements share memory, for certain."""
    return tensor.is_contiguous() or torch._debug_has_internal_overlap(tensor) == 0
