"""Notes where a script reads memory that nobody wrote. `trace.py` loads it, with `shadow`."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef

shadow = globals()["shadow"]
tensors_of = shadow.tensors_of

# These give memory as it is.
TAKES = {
    "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided", "empty_permuted",
}  # fmt: skip
# These write all elements of their first argument, and don't read them.
FILLS = {
    "copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_", "exponential_", "geometric_",
    "cauchy_", "log_normal_", "_foreach_copy_", "_foreach_zero_", "eye_",
}  # fmt: skip
# These write some elements; nobody says which.
FILLS_SOME = {
    "index_put_", "_index_put_impl_", "index_copy_", "index_fill_", "scatter_", "masked_fill_",
    "masked_scatter_", "put_", "fill_diagonal_", "set_", "resize_", "resize_as_",
}  # fmt: skip
# Their result has numbers where their argument has.
COPIES = {"clone", "_to_copy", "contiguous"}
MOST_ELEMENTS = 1 << 22
MOST_READS = 5


class Memory:
    """A storage that nobody has written as a whole.

    `raw` says of each of its elements whether it still is as it was; `before` has their bits from then.
    """

    def __init__(self, tensor, raw):
        self.origin = StorageWeakRef(shadow.storage_of(tensor))
        self.dtype, self.raw, self.before = tensor.dtype, raw, bytes_of(tensor).clone()

    def part(self, tensor):
        """The part of `raw` that belongs to a tensor, without what was changed out of sight, as by numpy."""
        now = bytes_of(tensor)
        size = tensor.element_size()
        self.raw &= (now == self.before).view(-1, size).all(1)
        return self.raw.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def bytes_of(tensor):
    """The bytes of the tensor's whole storage."""
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(shadow.storage_of(tensor))


class Unwritten:
    """`reads`: operations that took elements which nobody had written."""

    def __init__(self, reads):
        self.memory, self.reads = {}, reads

    def may_see(self, kind):
        """Whether there is memory in question, or the operation may give some."""
        return bool(self.memory) or kind.name in TAKES

    def before(self, number, kind, args, kwargs):
        """Look at the arguments of an operation. Nothing is to do where no memory is in question."""
        if self.memory and not kind.is_view and kind.name not in TAKES:
            self.run(self.look, number, kind, args, kwargs)

    def run(self, action, *arguments):
        """Run an action. If it fails, nothing is known of any memory."""
        try:
            with torch.inference_mode(False), torch.no_grad():
                action(*arguments)
        except Exception:
            self.memory.clear()

    def look(self, number, kind, args, kwargs):
        """Note what an operation writes, and what it reads although nobody wrote it."""
        written = kind.written_tensors(args, kwargs) if kind.written else []
        fills = kind.name in FILLS or kind.only_writes
        for tensor in tensors_of([args, *kwargs.values()]):
            memory = self.memory_of(tensor)
            if memory is None:
                continue
            part = memory.part(tensor)
            is_target = any(tensor is each for each in written)
            if is_target and fills:
                part.fill_(False)
                if not bool(memory.raw.any()):
                    self.forget(tensor)
            elif is_target and kind.name in FILLS_SOME:
                self.forget(tensor)
            elif kind.name not in COPIES and bool(part.any()):
                self.note(number, kind, int(part.sum()))
                self.forget(tensor)

    def after(self, kind, args, out):
        """Note memory that nobody has written, and copies of it."""
        if kind.name in TAKES:
            self.run(self.begin, out, None)
        elif self.memory and kind.name in COPIES:
            self.run(self.copy, args[0], out)

    def copy(self, tensor, out):
        """Follow a copy of memory that was not written as a whole."""
        memory = self.memory_of(tensor)
        if memory is not None and bool((part := memory.part(tensor)).any()):
            self.begin(out, part)

    def begin(self, tensor, part):
        """Follow a storage; `part`: which elements of the tensor nobody wrote, None for all of them."""
        if type(tensor) is not torch.Tensor or not shadow.is_dense(tensor):
            return
        storage = shadow.storage_of(tensor)
        length = storage.nbytes() // tensor.element_size()
        if not 0 < tensor.numel() <= length <= MOST_ELEMENTS or tensor.dtype.is_complex:
            return
        raw = torch.zeros(length, dtype=torch.bool, device=tensor.device)
        raw.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).copy_(
            torch.ones((), dtype=torch.bool, device=tensor.device) if part is None else part
        )
        self.memory[storage._cdata] = Memory(tensor, raw)

    def memory_of(self, tensor):
        """The Memory that a tensor lies in; None if it was written, or is of another dtype by now."""
        key = shadow.storage_of(tensor)._cdata
        memory = self.memory.get(key)
        if memory is not None and (memory.origin.expired() or memory.dtype is not tensor.dtype):
            del self.memory[key]
            return None
        return memory

    def forget(self, tensor):
        """Nobody knows any more what of a tensor's memory was written."""
        self.memory.pop(shadow.storage_of(tensor)._cdata, None)

    def note(self, number, kind, elements):
        """Note that an operation read so many elements."""
        if len(self.reads) < MOST_READS:
            self.reads.append({"number": number, "name": "aten::" + kind.name, "elements": elements})
