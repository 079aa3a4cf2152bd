"""Keeps what each operation of torch was given and gave while a script runs; at the end another process says which of it is rounding.

Loaded by the harness in the script's process, after `import torch`, where the target asks for it. What it keeps goes to the oracle
in a file: there no operation is replaced, whatever the script did to its own.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode

ROUNDING_CHECK_PATH = "/run/samehere/rounding_check.py"
# As they are before the script may replace them.
RUN, LOADS, SAVE, TEMPORARY = subprocess.run, json.loads, torch.save, tempfile.NamedTemporaryFile
MOST_OPERATIONS = 4000
# Of one tensor, and of all that is kept at a time.
MOST_ELEMENTS = 1 << 20
MOST_BYTES = 256 << 20
# Handed to the oracle: operations, and their bytes.
MOST_ASKED = 2000
ASKED_BYTES = 128 << 20
ORACLE_SECONDS = 40.0
ANSWER_BYTES = 64 << 10
PLAIN = (torch.Tensor, torch.nn.Parameter)
# Give what they were given, or what nobody computed.
MOVES = {
    "_to_copy", "copy_", "clone", "detach", "detach_", "fill_", "zero_", "full_like", "zeros_like", "ones_like", "empty_like", "new_empty",
    "new_zeros", "new_ones", "new_full", "new_empty_strided", "lift_fresh", "lift_fresh_copy", "resize_", "set_", "contiguous",
    "_local_scalar_dense", "equal", "is_same_size", "record_stream", "_pin_memory", "is_pinned", "masked_select", "nonzero",
    "_reshape_copy",
}  # fmt: skip


def is_arithmetic(func):
    """Whether it computes numbers from numbers, the same ones each time."""
    schema = func._schema
    name = schema.name
    if not name.startswith("aten::") or name[6:] in MOVES:
        return False
    if torch.Tag.nondeterministic_seeded in func.tags:
        return False
    # A view gives another's memory without writing to it.
    return not any(out.alias_info is not None and not out.alias_info.is_write for out in schema.returns)


def tensors_of(values):
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for one in tensors_of(value):
                yield one


def is_dense(tensor):
    """Whether its elements lie in memory one by one: what is nested, sparse or quantised is left out."""
    return tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized


def side_of(tensors):
    """The one kind of device that all are on; a number of no dimensions on the CPU goes with any."""
    kinds = {tensor.device.type for tensor in tensors if tensor.dim() or tensor.device.type != "cpu"}
    return (kinds or {"cpu"}).pop() if len(kinds) < 2 else None


def kept(value):
    """A copy on the CPU, and only of what can be read again from a file."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True)
    if isinstance(value, (list, tuple)):
        return [kept(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, complex, str, torch.dtype)):
        return value
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return None
    raise TypeError(type(value))


def same(one, other):
    """Bit for bit."""
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and torch.equal(
            one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8)
        )
    )


def cuts_factors(name, side):
    """Whether a card may use TF32 for it right now; the getters are those that warn of nothing."""
    if side != "cuda":
        return False
    kind = "conv" if "conv" in name else "matmul"
    get = getattr(torch._C, "_get_fp32_precision_getter", None)
    if get is not None:
        return get("cuda", kind) == "tf32"
    return torch._C._get_cudnn_allow_tf32() if kind == "conv" else torch._C._get_cublas_allow_tf32()


class Operation:
    def __init__(self, number, func, side, args, kwargs):
        self.number, self.name, self.overload, self.side = (
            number,
            func._schema.name,
            func._schema.overload_name,
            side,
        )
        self.tf32 = cuts_factors(self.name, side)
        # In which whole numbers become fractions.
        self.default = torch.get_default_dtype()
        self.args, self.kwargs, self.out = args, kwargs, []

    def key(self):
        return (
            self.name,
            self.overload,
            tuple((tuple(one.shape), str(one.dtype)) for one in inputs_of(self)),
        )

    def bytes(self):
        return sum(one.numel() * one.element_size() for one in [*inputs_of(self), *self.out])


class Trace(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.operations = []
        self.seen = self.bytes = 0
        self.whole = True
        self.pid = os.getpid()

    def start(self):
        """In this thread, and in each that is started from now on."""
        threading.setprofile(self.in_new_thread)
        # What a child computes is not seen.
        os.register_at_fork(after_in_parent=self.lose)
        self.__enter__()
        return self

    def lose(self):
        self.whole = False

    def in_new_thread(self, *_):
        sys.setprofile(None)
        try:
            self.__enter__()
        except Exception:
            self.whole = False

    def stop(self):
        threading.setprofile(None)
        self.__exit__(None, None, None)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operation = None
        try:
            operation = self.begin(func, types, args, kwargs)
        except Exception:
            self.whole = False
        out = func(*args, **kwargs)
        if operation is not None:
            try:
                self.end(operation, out, args)
            except Exception:
                self.whole = False
        return out

    def begin(self, func, types, args, kwargs):
        if not all(kind in PLAIN for kind in types) or not is_arithmetic(func):
            return None
        inputs = list(tensors_of([args, *kwargs.values()]))
        side = side_of(inputs)
        if not inputs or os.getpid() != self.pid:
            return None
        self.seen += 1
        if side is None or not all(map(is_dense, inputs)):
            self.whole = False
            return None
        if (
            self.seen > MOST_OPERATIONS
            or self.bytes > MOST_BYTES
            or any(one.numel() > MOST_ELEMENTS for one in inputs)
        ):
            self.whole = False
            return None
        return Operation(
            self.seen,
            func,
            side,
            kept(args),
            {name: kept(value) for name, value in kwargs.items() if name != "out"},
        )

    def end(self, operation, out, args):
        # Some change their first argument and give nothing.
        outputs = list(tensors_of([args[0] if out is None else out]))
        if not outputs or not (outputs[0].is_floating_point() or outputs[0].is_complex()):
            return
        if outputs[0].numel() > MOST_ELEMENTS or not is_dense(outputs[0]):
            self.whole = False
            return
        # What comes after the results, for a later step, may be large.
        operation.out = [
            kept(one)
            for one in itertools.takewhile(
                lambda one: one.numel() <= MOST_ELEMENTS and is_dense(one), outputs
            )
        ]
        self.bytes += operation.bytes()
        self.operations.append(operation)


def paired(operations):
    """Operations of the CPU beside those of a card that are the same step of the script: the same kind, in the same order."""
    import difflib

    cpu = [one for one in operations if one.side == "cpu"]
    card = [one for one in operations if one.side == "cuda"]
    matcher = difflib.SequenceMatcher(
        None, [one.key() for one in cpu], [one.key() for one in card], autojunk=False
    )
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            yield cpu[block.a + step], card[block.b + step]


def inputs_of(operation):
    return tensors_of([operation.args, *operation.kwargs.values()])


def agree(some, others):
    return all(same(one, other) for one, other in zip(some, others))


def questions(operations):
    """What the oracle is asked: pairs that gave something else, and each operation that is in no pair; with the number of pairs."""
    pairs = list(paired(operations))
    asked = [[cpu, card] for cpu, card in pairs if not agree(cpu.out, card.out)]
    in_pairs = {one.number for pair in pairs for one in pair}
    alone = [[one] for one in operations if one.number not in in_pairs]
    return asked + alone, len(pairs)


def packed(asked):
    """As plain values and tensors, which a file can hold without code; and whether all of it fits."""
    room, told = ASKED_BYTES, []
    for sides in asked[:MOST_ASKED]:
        room -= sum(one.bytes() for one in sides)
        if room < 0:
            return told, False
        first = sides[0]
        question = {"number": first.number, "name": first.name, "overload": first.overload}
        question["inputs_agree"] = agree(inputs_of(first), inputs_of(sides[1])) if len(sides) == 2 else None
        question["sides"] = [
            {name: getattr(one, name) for name in ("side", "tf32", "default", "args", "kwargs", "out")}
            for one in sides
        ]
        told.append(question)
    return told, len(asked) <= MOST_ASKED


def ask(told):
    with TEMPORARY(suffix=".pt") as file:
        SAVE(told, file)
        file.flush()
        said = RUN(
            [sys.executable, ROUNDING_CHECK_PATH, file.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ORACLE_SECONDS,
        ).stdout
    if len(said) > ANSWER_BYTES:
        raise ValueError("too long an answer")
    return LOADS(said)


def message(trace):
    """What became of all operations, for the node; what goes wrong on the way is said, too."""
    try:
        return answered(trace)
    except Exception:
        return {"kind": "trace", "operations_seen": trace.seen, "pairs": 0, "asked": 0, "whole": False}


def answered(trace):
    asked, pairs = questions(trace.operations)
    told, whole = packed(asked)
    facts = {
        "kind": "trace",
        "operations_seen": trace.seen,
        "pairs": pairs,
        "asked": len(asked),
        "whole": trace.whole and whole,
    }
    if told:
        facts.update(ask(told))
    return facts
