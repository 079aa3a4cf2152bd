"""Describes torch's operations, and selects those to ask the rounding check about. `trace.py` loads it."""

import difflib
import threading

import torch

# `trace.py` gives these: all tensors in nested lists and tuples, and whether one lies in plain memory.
tensors_of, is_dense = globals()["tensors_of"], globals().get("is_dense")

# Questions for the rounding check, and their bytes. On a card nothing is proved beside the script, so all
# that `trace.py` records may be asked about.
MOST_QUESTIONS, QUESTION_BYTES = 4000, 128 << 20
# Their indices are judged by the elements that they choose.
CHOICES = {"aten::argmax", "aten::argmin"}
# These return their input, or numbers that nobody computed.
MOVES = {
    "_to_copy", "copy_", "clone", "detach", "detach_", "fill_", "zero_", "full_like", "zeros_like",
    "ones_like", "empty_like", "new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided",
    "lift_fresh", "lift_fresh_copy", "resize_", "set_", "contiguous", "_local_scalar_dense", "equal",
    "is_same_size", "record_stream", "_pin_memory", "is_pinned", "masked_select", "nonzero", "_reshape_copy",
    "_cudnn_rnn_flatten_weight",
}  # fmt: skip


def is_arithmetic(func):
    """Whether the operation computes numbers from numbers. It may also draw some."""
    schema = func._schema
    name = schema.name
    if not name.startswith("aten::") or name[6:] in MOVES:
        return False
    # A view returns the memory of its input without writing to it.
    return not any(out.alias_info is not None and not out.alias_info.is_write for out in schema.returns)


class Description:
    """Describes an operation of torch by its schema."""

    def __init__(self, func):
        # The operation stays, so its id does.
        self.func = func
        self.name, self.overload = func._schema.name, func._schema.overload_name
        self.is_arithmetic = is_arithmetic(func)
        self.is_seeded = torch.Tag.nondeterministic_seeded in func.tags
        # The shadow's Kind; None: there is no shadow.
        self.kind = None
        self.is_dropped = self.is_view = False


class Races:
    """Storages to which one thread writes while another one uses them."""

    def __init__(self):
        # False as long as there is one thread.
        self.are_possible = False
        self.writers, self.storages = {}, set()
        self.lock = threading.Lock()

    def has(self, call):
        """Whether another thread writes to what an operation takes. Asked before it, and after its copies."""
        mine, kind = threading.get_ident(), call.known.kind
        if kind is None:
            return False
        written = {tensor.untyped_storage()._cdata for tensor in kind.written_tensors(call.args, call.kwargs)}
        used = {
            tensor.untyped_storage()._cdata
            for tensor in tensors_of([call.args, *call.kwargs.values()])
            if is_dense(tensor)
        }
        is_alone = threading.active_count() == 1
        with self.lock:
            for storage in written | used:
                if is_alone:
                    # All others have ended.
                    self.writers.pop(storage, None)
                if self.writers.get(storage, mine) != mine:
                    self.storages.add(storage)
                elif storage in written:
                    self.writers[storage] = mine
            return not self.storages.isdisjoint(written | used)


class Call:
    """One call of an operation, while it runs. `operation` and `step`: what is recorded and followed of it.

    `take` gives the elements of a tensor. `may_drop`: nothing is kept if the shadow proves it; `waits`:
    nothing is kept before that.
    """

    def __init__(self, known, args, kwargs):
        self.known, self.args, self.kwargs = known, args, kwargs
        self.operation = self.step = self.take = None
        self.may_drop = self.waits = False


def may_use_tf32(name, side):
    """Whether a card may use TF32 for the operation now. These getters cause no warnings."""
    if side != "cuda":
        return False
    kind = "conv" if "conv" in name else "rnn" if "_rnn" in name else "matmul"
    get = getattr(torch._C, "_get_fp32_precision_getter", None)
    if get is not None:
        return get("cuda", kind) == "tf32"
    return torch._C._get_cublas_allow_tf32() if kind == "matmul" else torch._C._get_cudnn_allow_tf32()


class Operation:
    """One operation that ran. Its attributes are those of a question and of one of its sides."""

    def __init__(self, number, known, side):
        self.number, self.side = number, side
        self.name, self.overload = known.name, known.overload
        self.tf32 = may_use_tf32(self.name, side)
        # Integers convert to this dtype.
        self.default = torch.get_default_dtype()
        self.args, self.kwargs, self.out = (), {}, []
        # Whether the shadow has shown that float64 gives this result on these inputs.
        self.proved = False

    def key(self):
        """The same for the same step of the script on another device."""
        inputs = tuple((tuple(tensor.shape), str(tensor.dtype)) for tensor in inputs_of(self))
        return self.name, self.overload, inputs

    def bytes(self):
        """Bytes of all recorded tensors."""
        return sum(tensor.numel() * tensor.element_size() for tensor in [*inputs_of(self), *self.out])


def is_same(one, other):
    """Whether two tensors are equal bit for bit."""
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and torch.equal(
            one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8)
        )
    )


def pair(operations):
    """Yield the operations of the CPU and of a card that are the same step: equal keys in the same order."""
    cpu = [operation for operation in operations if operation.side == "cpu"]
    card = [operation for operation in operations if operation.side == "cuda"]
    if not cpu or not card:
        return
    keys = [[operation.key() for operation in side] for side in (cpu, card)]
    matcher = difflib.SequenceMatcher(None, *keys, autojunk=False)
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            yield cpu[block.a + step], card[block.b + step]


def inputs_of(operation):
    """Yield all tensors among the arguments."""
    return tensors_of([operation.args, *operation.kwargs.values()])


def agree(some, others):
    """Whether all tensors are equal bit for bit."""
    return all(is_same(one, other) for one, other in zip(some, others))


def select(operations, doubtful=()):
    """The operations to ask about, as lists of one or two; the number of pairs; that of proofs.

    These are the pairs whose outputs differ, and each operation that is in no pair, except those that the
    shadow has proved. For `doubtful` names, which may have somebody else's kernels, that is no proof.
    """
    pairs = list(pair(operations))
    different = [[cpu, card] for cpu, card in pairs if not agree(cpu.out, card.out)]
    in_pairs = {operation.number for both in pairs for operation in both}
    single = [operation for operation in operations if operation.number not in in_pairs]
    doubted = [[each] for each in single if not each.proved or each.name in doubtful]
    return different + doubted, len(pairs), len(single) - len(doubted)


def pack(selection):
    """The questions, as plain values and tensors, and whether all of them fit into the limits."""
    bytes_left, questions = QUESTION_BYTES, []
    for sides in selection[:MOST_QUESTIONS]:
        bytes_left -= sum(operation.bytes() for operation in sides)
        if bytes_left < 0:
            return questions, False
        first = sides[0]
        question = {"number": first.number, "name": first.name, "overload": first.overload}
        question["inputs_agree"] = agree(inputs_of(first), inputs_of(sides[1])) if len(sides) == 2 else None
        fields = ("side", "tf32", "default", "args", "kwargs", "out")
        question["sides"] = [{name: getattr(operation, name) for name in fields} for operation in sides]
        questions.append(question)
    return questions, len(selection) <= MOST_QUESTIONS
