"""Records the inputs and outputs of torch's operations in a script, and has another process check them.

`watch.py` loads it in the script's process, after `import torch`, if the target has the setting `trace`. At
the end it writes *questions* to a file and runs `rounding_check.py` on it: in that process no operation is
patched, whatever the script did in its own. Beside the script it computes a shadow in float64 (`shadow.py`).
`worker/harness/__init__.py` describes questions, the answer and the `trace` line of the report.
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

FOLDER = "/run/samehere/"
ROUNDING_CHECK_PATH = "/run/samehere/rounding_check.py"
# Stored now, before the script can replace them.
RUN, LOADS, SAVE, TEMPORARY = subprocess.run, json.loads, torch.save, tempfile.NamedTemporaryFile
MOST_OPERATIONS = 4000
# After so many, those that the shadow has proved are only counted: `step_digests.py` takes no more.
MOST_KEPT = 1000
# Elements of one tensor, and bytes of all recorded operations.
MOST_ELEMENTS, MOST_BYTES = 1 << 20, 256 << 20
CHECK_SECONDS = 40.0
ANSWER_BYTES = 64 << 10
MOST_OWN = 20
# Parts of the shadow that need nothing else.
PARTS = ("together", "whole_numbers", "choices", "flips", "formulas")
# Whether there is a card. Asking torch would start its driver, and then a child could not use it.
CARDS = any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")))
PLAIN = {torch.Tensor, torch.nn.Parameter}


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


def copy_to_cpu(tensor):
    """A copy of a tensor on the CPU."""
    if tensor._is_zerotensor():
        return torch.zeros(tensor.shape, dtype=tensor.dtype)
    tensor = tensor.detach() if tensor.requires_grad else tensor
    return tensor.clone() if tensor.device.type == "cpu" else tensor.to("cpu", copy=True)


def keep(value, take):
    """Arguments with tensors on the CPU, made of types that `torch.load(weights_only=True)` reads.

    `take` gives the elements of a tensor as they are now. Raises TypeError for any other type.
    """
    if isinstance(value, torch.Tensor):
        return take(value)
    if isinstance(value, (list, tuple)):
        return [keep(item, take) for item in value]
    if value is None or isinstance(value, (bool, int, float, complex, str, torch.dtype)):
        return value
    if isinstance(value, (torch.device, torch.layout, torch.memory_format)):
        return None
    raise TypeError(type(value))


def load(name, **names):
    """A file of the harness as a module with these globals."""
    module = type(sys)(name)
    vars(module).update(names)
    path = FOLDER + name + ".py"
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), vars(module))  # noqa: S102
    return module


operations = load("operations", tensors_of=tensors_of, is_dense=is_dense)


class Trace(TorchDispatchMode):
    """Records operations. `whole` becomes False once an operation is left out."""

    @classmethod
    def _should_skip_dynamo(cls):
        # Else torch imports its compiler at the first operation (1.3 s). Nothing compiles under a mode.
        return False

    def __init__(self):
        super().__init__()
        self.operations = []
        self.known = {}
        # `dropped`: how many operations the shadow has proved that are in no list.
        self.seen = self.copied = self.dropped = 0
        self.whole = True
        # Whether no more operations are recorded.
        self.is_full = False
        self.pid = os.getpid()
        # These know kernels, follow operations in float64, and hold shown values against it. None: no shadow.
        self.stand_ins = self.follower = self.shown = self.own = self.unwritten = self.snapshots = None
        self.new_kind = self.bits = None
        self.races = operations.Races()

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
        self.races.are_possible = True
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
        call = None
        try:
            call = self.before(func, types, args, kwargs)
        except Exception:
            # The compiler can't look into this, and says so here.
            self.whole = False
        out = func(*args, **kwargs)
        if call is not None:
            try:
                self.after(call, out)
            except Exception:
                self.whole = False
        return out

    def know(self, func):
        """Describe an operation that comes for the first time."""
        known = self.known[id(func)] = operations.Description(func)
        if self.follower is not None:
            known.kind = self.new_kind(func)
            known.is_view = known.kind.is_view and not known.is_arithmetic
        return known

    def before(self, func, types, args, kwargs):
        """Look at an operation before it runs. Returns the Call; None if there is nothing to see."""
        if os.getpid() != self.pid:
            return None
        known = self.known.get(id(func)) or self.know(func)
        if known.kind is not None and known.kind.reads_bits and self.follower.table.stopped is None:
            self.bits.look(self.seen, *args[:2])
        if known.is_view or (self.is_full and self.passes(known, types, args, kwargs)):
            return None
        call = operations.Call(known, args, kwargs)
        inputs = list(tensors_of([call.args, *call.kwargs.values()]))
        try:
            call.operation = self.begin(call, types, inputs)
        except Exception:
            self.whole = False
        try:
            if known.kind is not None:
                self.own.look()
                self.unwritten.before(self.seen, known.kind, call.args, call.kwargs)
                call.step = self.follower.before(self.seen, call, types, inputs)
        except Exception:
            self.whole = False
        self.leave_races(call)
        step = call.step
        call.take = copy_to_cpu if self.snapshots is None else self.snapshots.of(step)
        if call.operation is not None:
            call.may_drop = step is not None and self.may_drop(known)
            # Then the inputs are the same afterwards.
            call.waits = (
                call.may_drop and not step.written and all(id(each) in step.entries for each in inputs)
            )
            if not call.waits:
                self.keep_inputs(call)
        return call

    def passes(self, known, types, args, kwargs):
        """Whether an operation is only counted, since nothing is recorded or followed any more."""
        if known.is_seeded or (self.follower is not None and self.follower.table.stopped is None):
            return False
        if known.kind is not None:
            self.own.look()
            if self.unwritten.may_see(known.kind):
                return False
        if known.is_arithmetic and PLAIN.issuperset(types):
            self.seen += next(tensors_of([args, *kwargs.values()]), None) is not None
        return True

    def leave_races(self, call):
        """Do not record an operation on what another thread writes to: its inputs are nobody's any more."""
        if self.races.are_possible and self.races.has(call):
            call.operation, self.whole = None, False

    def after(self, call, out):
        """Look at what an operation gave."""
        step, kind = call.step, call.known.kind
        if step is not None:
            self.follower.after(step, out)
        if kind is not None:
            self.unwritten.after(kind, call.args, out)
        if call.operation is not None and call.may_drop and step.proved:
            self.dropped += 1
            call.known.is_dropped = True
            return
        if call.operation is not None and call.waits:
            self.keep_inputs(call)
        if call.operation is not None:
            try:
                call.operation.proved = step is not None and step.proved
                self.end(call, out)
            except Exception:
                self.whole = False

    def may_drop(self, known):
        """Whether an operation is only counted if the shadow proves it: no digest of it travels any more.

        A card may do the same step, and somebody else's kernel proves itself.
        """
        return len(self.operations) >= MOST_KEPT and not CARDS and self.own.is_torchs(known)

    def begin(self, call, types, inputs):
        """An Operation for what is about to run; None if it is not recorded."""
        known = call.known
        if not known.is_arithmetic or not PLAIN.issuperset(types):
            return None
        if not inputs or (known.is_seeded and self.draws(known.func, call.args, call.kwargs)):
            return None
        self.seen += 1
        side = side_of(inputs)
        self.is_full = len(self.operations) >= MOST_OPERATIONS or self.bytes() > MOST_BYTES
        are_small = all(is_dense(tensor) and tensor.numel() <= MOST_ELEMENTS for tensor in inputs)
        if side is None or self.is_full or not are_small:
            self.whole = False
            return None
        return operations.Operation(self.seen, known, side)

    def bytes(self):
        """The memory of what is recorded."""
        return self.copied if self.snapshots is None else self.snapshots.bytes

    def draws(self, func, args, kwargs):
        """Whether an operation draws random numbers in this call. Plain draws leave nothing out."""
        drawn = self.stand_ins.draws(func, args, kwargs) if self.stand_ins else "more"
        self.whole = self.whole and drawn != "more"
        return bool(drawn)

    def keep_inputs(self, call):
        """Keep the inputs, before the operation can change them; forget the operation if that fails."""
        take = call.take
        try:
            named = {name: keep(value, take) for name, value in call.kwargs.items() if name != "out"}
            call.operation.args, call.operation.kwargs = keep(call.args, take), named
        except Exception:
            call.operation, self.whole = None, False

    def end(self, call, out):
        """Keep the outputs, and add the operation if it gives numbers, or indices that nothing has proved."""
        # Some operations change their first argument and return None.
        outputs = list(tensors_of([call.args[0] if out is None else out]))
        if not outputs or not (outputs[0].is_floating_point() or outputs[0].is_complex()):
            is_choice = outputs and call.known.name in operations.CHOICES
            if not is_choice or (call.operation.proved and self.own.is_torchs(call.known)):
                return
        if outputs[0].numel() > MOST_ELEMENTS or not is_dense(outputs[0]):
            self.whole = False
            return
        # The outputs after the results serve a later step, and may be large.
        small = itertools.takewhile(
            lambda tensor: tensor.numel() <= MOST_ELEMENTS and is_dense(tensor), outputs
        )
        call.operation.out = [call.take(tensor) for tensor in small]
        # Only now: another thread may have written while these were copied.
        self.leave_races(call)
        if call.operation is not None:
            self.copied += call.operation.bytes() if self.snapshots is None else 0
            self.operations.append(call.operation)


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


def start(printed=None):
    """Start to record. Returns the Trace. `printed` captures what the script prints; None: nothing does."""
    trace = Trace()
    try:
        trace.stand_ins, trace.own = load("stand_ins"), load("own_kernels").OwnKernels()
        shadow = load("shadow", tensors_of=tensors_of, noise=load("noise"), literals=load("literals"))
        table = shadow.Shadow()
        trace.snapshots = load("snapshots", shadow=shadow).Snapshots(table, copy_to_cpu)
        numbers = load("script_numbers", shadow=shadow, script_text=load("script_text")).ScriptNumbers()
        alike = load("alike", shadow=shadow).Alike(table)
        trace.shown = load("shown_values", shadow=shadow).ShownValues(table, alike, numbers)
        trace.shown.watch_reading(lambda: trace.seen)
        parts = {name: load(name, shadow=shadow) for name in PARTS}
        kinds = parts["step_kinds"] = load("step_kinds", shadow=shadow, stand_ins=trace.stand_ins)
        parts["decisions"] = load("decisions", shadow=shadow, **parts)
        steps = load("shadow_steps", shadow=shadow, **parts)
        trace.unwritten = load("unwritten", shadow=shadow).Unwritten(table.unwritten)
        trace.new_kind, trace.bits = kinds.Kind, parts["whole_numbers"].Bits(table)
        trace.follower = steps.Follower(table, trace.shown, operations.may_use_tf32)
        if printed is not None:
            trace.shown.watch_printing(printed, lambda: trace.seen)
    except Exception:
        # This version of torch lacks something that the shadow needs.
        trace.follower = trace.shown = trace.snapshots = None
    return trace.start()


def message(trace):
    """The `trace` line of the report. It says `whole: False` if anything goes wrong here."""
    facts = {"kind": "trace", "operations_seen": trace.seen, "pairs": 0, "asked": 0, "whole": False}
    try:
        if trace.follower is not None:
            kinds = {(operation.name, operation.overload) for operation in trace.operations}
            dropped = {(known.name, known.overload) for known in trace.known.values() if known.is_dropped}
            own, unknown = trace.own.all_of(kinds | dropped)
            if not {*own, *unknown}.isdisjoint(name for name, _ in dropped):
                # Somebody registered a kernel unseen: what it proves is nothing.
                trace.whole = False
            facts["own"], facts["origin_unknown"] = own[:MOST_OWN], unknown[:MOST_OWN]
            facts["replaced"] = trace.own.replacements()[:MOST_OWN]
            trace.shown.end(trace.seen)
            facts["shadow"] = {**trace.follower.table.facts(), **trace.shown.facts()}
            facts.update(
                load("step_digests").digests_of(trace.operations, operations.inputs_of, trace.dropped)
            )
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
    selection, pairs, proved = operations.select(trace.operations, doubtful)
    proved += trace.dropped
    questions, whole = operations.pack(selection)
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
