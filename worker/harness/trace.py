"""Records the inputs and outputs of torch's operations in a script, and has another process check them.

`watch.py` loads it in the script's process, after `import torch`, if the target has the setting `trace`. At
the end it writes *questions* to a file and runs `rounding_check.py` on it: in that process no operation is
patched, whatever the script did in its own. Beside the script it computes a shadow in float64 (`shadow.py`).
`worker/harness/__init__.py` describes questions, the answer and the `trace` line of the report.
"""

import difflib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode

FOLDER = "/run/samehere/"
ROUNDING_CHECK_PATH = "/run/samehere/rounding_check.py"
# Stored now, before the script can replace them.
RUN, LOADS, SAVE, TEMPORARY = subprocess.run, json.loads, torch.save, tempfile.NamedTemporaryFile
MOST_OPERATIONS = 4000
# Elements of one tensor, and bytes of all recorded operations.
MOST_ELEMENTS, MOST_BYTES = 1 << 20, 256 << 20
# Questions for the rounding check, and their bytes.
MOST_QUESTIONS, QUESTION_BYTES = 2000, 128 << 20
CHECK_SECONDS = 40.0
ANSWER_BYTES = 64 << 10
MOST_OWN = 20
PLAIN = {torch.Tensor, torch.nn.Parameter}
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


def tensors_of(values, tensors=None):
    """An iterator over all tensors in nested lists and tuples. A generator takes three times as long."""
    tensors = [] if tensors is None else tensors
    for value in values:
        if isinstance(value, torch.Tensor):
            tensors.append(value)
        elif isinstance(value, (list, tuple)):
            tensors_of(value, tensors)
    return iter(tensors)


def is_dense(tensor):
    """Whether the elements lie in memory one by one: not nested, sparse or quantised."""
    return tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_quantized


def side_of(tensors):
    """The kind of device ("cpu", "cuda") that all tensors are on; None if there are several kinds.

    A tensor without dimensions on the CPU may go with any device.
    """
    kinds = {tensor.device.type for tensor in tensors if tensor.dim() or tensor.device.type != "cpu"}
    return (kinds or {"cpu"}).pop() if len(kinds) < 2 else None


def copy_to_cpu(value):
    """A copy with tensors on the CPU, made of types that `torch.load(weights_only=True)` reads.

    Raises TypeError for any other type.
    """
    if isinstance(value, torch.Tensor):
        if value._is_zerotensor():
            return torch.zeros(value.shape, dtype=value.dtype)
        value = value.detach() if value.requires_grad else value
        return value.clone() if value.device.type == "cpu" else value.to("cpu", copy=True)
    if isinstance(value, (list, tuple)):
        return [copy_to_cpu(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, complex, str, torch.dtype)):
        return value
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return None
    raise TypeError(type(value))


def is_same(one, other):
    """Whether two tensors are equal bit for bit."""
    return (
        one.dtype == other.dtype
        and one.shape == other.shape
        and torch.equal(
            one.contiguous().view(-1).view(torch.uint8), other.contiguous().view(-1).view(torch.uint8)
        )
    )


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

    def __init__(self, number, func, side, args, kwargs):
        self.number, self.side = number, side
        self.name, self.overload = func._schema.name, func._schema.overload_name
        self.tf32 = may_use_tf32(self.name, side)
        # Integers convert to this dtype.
        self.default = torch.get_default_dtype()
        self.args, self.kwargs, self.out = args, kwargs, []
        # Whether the shadow has shown that float64 gives this result on these inputs.
        self.proved = False

    def key(self):
        """The same for the same step of the script on another device."""
        inputs = tuple((tuple(tensor.shape), str(tensor.dtype)) for tensor in inputs_of(self))
        return self.name, self.overload, inputs

    def bytes(self):
        """Bytes of all recorded tensors."""
        return sum(tensor.numel() * tensor.element_size() for tensor in [*inputs_of(self), *self.out])


class Trace(TorchDispatchMode):
    """Records operations. `whole` becomes False once an operation is left out."""

    @classmethod
    def _should_skip_dynamo(cls):
        # Else torch imports its compiler at the first operation (1.3 s). Nothing compiles under a mode.
        return False

    def __init__(self):
        super().__init__()
        self.operations = []
        self.arithmetic = {}
        self.seen = self.bytes = 0
        self.whole = True
        self.pid = os.getpid()
        # These know kernels, follow operations in float64, and hold shown values against it. None: no shadow.
        self.stand_ins = self.follower = self.shown = self.own = self.unwritten = None

    def start(self):
        """Record in this thread, and in each thread that starts from now on."""
        threading.setprofile(self.in_new_thread)
        # A child process's operations are not recorded.
        os.register_at_fork(after_in_parent=self.mark_incomplete)
        self.__enter__()
        return self

    def mark_incomplete(self):
        """Note that an operation may have been left out."""
        self.whole = False

    def in_new_thread(self, *_):
        """The profile function of a new thread: it only starts recording there."""
        sys.setprofile(None)
        try:
            self.__enter__()
        except Exception:
            self.whole = False

    def stop(self):
        """Stop recording in this thread and in new ones."""
        threading.setprofile(None)
        self.__exit__(None, None, None)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        operation = None
        try:
            operation = self.begin(func, types, args, kwargs)
        except Exception:
            self.whole = False
        step = kind = None
        try:
            if self.follower is not None:
                self.own.look()
                kind = self.follower.kind_of(func)
                self.unwritten.before(self.seen, kind, args, kwargs)
                step = self.follower.before(self.seen, func, types, args, kwargs)
        except Exception:
            self.whole = False
        out = func(*args, **kwargs)
        if step is not None:
            self.follower.after(step, out)
        if kind is not None:
            self.unwritten.after(kind, args, out)
        if operation is not None:
            try:
                operation.proved = step is not None and step.proved
                self.end(operation, out, args)
            except Exception:
                self.whole = False
        return out

    def begin(self, func, types, args, kwargs):
        """Copy the inputs, before the operation can change them; None if it is not recorded."""
        if func not in self.arithmetic:
            self.arithmetic[func] = is_arithmetic(func)
        if not self.arithmetic[func] or not PLAIN.issuperset(types):
            return None
        inputs = list(tensors_of([args, *kwargs.values()]))
        side = side_of(inputs)
        if not inputs or os.getpid() != self.pid or self.draws(func, args, kwargs):
            return None
        self.seen += 1
        if side is None or not all(map(is_dense, inputs)):
            self.whole = False
            return None
        is_full = self.seen > MOST_OPERATIONS or self.bytes > MOST_BYTES
        if is_full or any(tensor.numel() > MOST_ELEMENTS for tensor in inputs):
            self.whole = False
            return None
        named = {name: copy_to_cpu(value) for name, value in kwargs.items() if name != "out"}
        return Operation(self.seen, func, side, copy_to_cpu(args), named)

    def draws(self, func, args, kwargs):
        """Whether an operation draws random numbers in this call. Plain draws leave nothing out."""
        seeded = torch.Tag.nondeterministic_seeded in func.tags
        drawn = seeded and (self.stand_ins.draws(func, args, kwargs) if self.stand_ins else "more")
        self.whole = self.whole and drawn != "more"
        return bool(drawn)

    def end(self, operation, out, args):
        """Copy the outputs, and add the operation if its first output is floating-point or complex."""
        # Some operations change their first argument and return None.
        outputs = list(tensors_of([args[0] if out is None else out]))
        if not outputs or not (outputs[0].is_floating_point() or outputs[0].is_complex()):
            return
        if outputs[0].numel() > MOST_ELEMENTS or not is_dense(outputs[0]):
            self.whole = False
            return
        # The outputs after the results serve a later step, and may be large.
        small = itertools.takewhile(
            lambda tensor: tensor.numel() <= MOST_ELEMENTS and is_dense(tensor), outputs
        )
        operation.out = [copy_to_cpu(tensor) for tensor in small]
        self.bytes += operation.bytes()
        self.operations.append(operation)


def pair(operations):
    """Yield the operations of the CPU and of a card that are the same step: equal keys in the same order."""
    cpu = [operation for operation in operations if operation.side == "cpu"]
    card = [operation for operation in operations if operation.side == "cuda"]
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


def ask(questions):
    """The answer of the rounding check. Raises if it fails, takes too long or answers too much."""
    with TEMPORARY(suffix=".pt") as file:
        SAVE(questions, file)
        file.flush()
        answer = RUN(
            [sys.executable, ROUNDING_CHECK_PATH, file.name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=CHECK_SECONDS,
        ).stdout
    if len(answer) > ANSWER_BYTES:
        raise ValueError("too long an answer")
    return LOADS(answer)


def load(name, **names):
    """A file of the harness as a module with these globals."""
    module = type(sys)(name)
    vars(module).update(names)
    path = FOLDER + name + ".py"
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), vars(module))  # noqa: S102
    return module


def start(printed=None):
    """Start to record. Returns the Trace. `printed` captures what the script prints; None: nothing does."""
    trace = Trace()
    try:
        trace.stand_ins = load("stand_ins")
        shadow = load("shadow", tensors_of=tensors_of)
        table = shadow.Shadow()
        trace.shown = load("shown_values", shadow=shadow).ShownValues(table)
        trace.shown.watch_reading(lambda: trace.seen)
        trace.own = load("own_kernels").OwnKernels()
        parts = {name: load(name, shadow=shadow) for name in ("together", "whole_numbers")}
        parts["step_kinds"] = load("step_kinds", shadow=shadow, stand_ins=trace.stand_ins)
        steps = load("shadow_steps", shadow=shadow, **parts)
        trace.unwritten = load("unwritten", shadow=shadow).Unwritten(table.unwritten)
        trace.follower = steps.Follower(table, trace.shown, may_use_tf32)
        if printed is not None:
            trace.shown.watch_printing(printed, lambda: trace.seen)
    except Exception:
        # This version of torch lacks something that the shadow needs.
        trace.follower = trace.shown = None
    return trace.start()


def message(trace):
    """The `trace` line of the report. It says `whole: False` if anything goes wrong here."""
    facts = {"kind": "trace", "operations_seen": trace.seen, "pairs": 0, "asked": 0, "whole": False}
    try:
        if trace.follower is not None:
            kinds = {(operation.name, operation.overload) for operation in trace.operations}
            own, unknown = trace.own.all_of(kinds)
            facts["own"], facts["origin_unknown"] = own[:MOST_OWN], unknown[:MOST_OWN]
            facts["replaced"] = trace.own.replacements()[:MOST_OWN]
            trace.shown.end(trace.seen)
            facts["shadow"] = {**trace.follower.table.facts(), **trace.shown.facts()}
            facts.update(load("step_digests").digests_of(trace.operations, inputs_of))
            facts.update(check(trace, {*own, *unknown}))
        else:
            facts.update(check(trace, ()))
    except Exception:
        return facts
    return facts


def check(trace, doubtful):
    """The `trace` line of the report, with the answer of the rounding check if there was anything to ask.

    `doubtful` names operations whose kernels may not be torch's.
    """
    selection, pairs, proved = select(trace.operations, doubtful)
    questions, whole = pack(selection)
    facts = {
        "kind": "trace",
        "operations_seen": trace.seen,
        "pairs": pairs,
        "asked": len(selection) + proved,
        "answered": proved,
        "whole": trace.whole and whole,
    }
    if questions:
        answer = ask(questions)
        facts.update(answer, answered=answer.get("answered", 0) + proved)
    return facts
