"""Follows a script's operations with their shadows. `trace.py` loads it, with `shadow` and `together`."""

import math

import torch

shadow = globals()["shadow"]
together = globals()["together"]
tensors_of, is_number = shadow.tensors_of, shadow.is_number

# These give one of their inputs' numbers, or a sign of it: nothing is rounded.
EXACT = {
    "clone", "copy_", "cat", "stack", "index", "index_select", "gather", "where", "neg", "abs", "relu", "max",
    "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "flip", "roll", "constant_pad_nd",
    "slice_scatter", "select_backward", "slice_backward", "repeat", "tril", "triu", "masked_fill",
    "embedding",
    "fill", "zero", "sign", "sgn", "clamp", "clamp_min", "clamp_max", "threshold_backward", "alias", "detach",
    "_unsafe_view", "lift_fresh", "masked_select", "scatter", "index_fill", "max_pool2d_with_indices",
    "native_dropout", "expand", "ones_like", "zeros_like", "full_like", "new_zeros", "new_ones", "new_full",
}  # fmt: skip
# Equality of rounded numbers says nothing about a decision.
EQUALITIES = {"eq", "ne", "equal"}
# Their outputs hold no numbers yet, or numbers that nobody computed: their shadows begin at the first use.
EMPTY = {"empty_like", "new_empty", "new_empty_strided", "set_", "resize_", "_resize_output_"}
# The outputs that have one right answer each: signs and orders are free in the others, or they go with the
# script's pivots.
UNIQUE = {
    "_linalg_eigh": (0,), "_linalg_svd": (1,), "svd": (1,), "linalg_qr": (), "linalg_eig": (), "geqrf": (),
    "linalg_lu": (), "linalg_lu_factor_ex": (), "linalg_householder_product": (), "ormqr": (),
    "_linalg_solve_ex": (0,), "_linalg_slogdet": (0, 1), "_linalg_det": (0,), "linalg_lstsq": (0,),
}  # fmt: skip
# Fused optimizers read these as float32, whatever they are.
SINGLE_PRECISION = {"state_steps", "grad_scale", "found_inf", "lr"}
# Only their backward operations take the other outputs.
FOR_BACKWARD = {"_linalg_solve_ex", "_linalg_slogdet", "_linalg_det"}
# A small change of the input may change the result by a step of this size; None: of the divisor's size.
JUMPS = {
    **dict.fromkeys(("floor", "ceil", "round", "trunc", "sign", "sgn", "heaviside", "floor_divide"), 0.5),
    **dict.fromkeys(("remainder", "fmod"), None),
}
# These round by the largest element of the result, and running sums by many roundings.
BY_THE_LARGEST = ("linalg_", "fft_", "cholesky", "triangular_solve", "lu_", "svd", "inverse")
# Sums whose terms may cancel: they round by the sum of the absolute terms.
SUMS = {
    "sum", "mean", "mm", "addmm", "bmm", "baddbmm", "mv", "addmv", "dot", "vdot", "convolution", "cumsum",
    "convolution_backward", "index_add", "scatter_add", "logcumsumexp", "embedding_dense_backward",
    "_embedding_bag", "addbmm", "addr", "linear", "trace", "avg_pool2d", "_adaptive_avg_pool2d",
}  # fmt: skip
# Their factors may have the 10 bits of TF32, as float16 has.
SHORTENED = {
    "mm",
    "addmm",
    "bmm",
    "baddbmm",
    "mv",
    "addmv",
    "dot",
    "convolution",
    "convolution_backward",
    "linear",
}
ABSOLUTE = shadow.COPIES
RUNNING = ("cumsum", "cumprod", "logcumsumexp")
MOST_DECISIONS = 5
# The most operations from `isclose`'s first comparison to its last.
CLOSENESS_STEPS = 12


class Kind:
    """The kind of an operation: `name` is its base name, `written` lists the arguments that it writes to."""

    def __init__(self, func):
        schema = func._schema
        space, _, name = schema.name.partition("::")
        self.name = name
        self.foreign = space != "aten"
        self.draws = torch.Tag.nondeterministic_seeded in func.tags and name not in shadow.FALLBACKS
        self.may_alias = any(
            out.alias_info is not None and not out.alias_info.is_write for out in schema.returns
        )
        # In inference mode, operations that are made of others arrive whole: `to` may give new numbers.
        self.is_view = self.may_alias and not is_composite(schema)
        self.written = [
            (at, argument.name)
            for at, argument in enumerate(schema.arguments)
            if (argument.alias_info is not None and argument.alias_info.is_write)
            or ("batch_norm" in name and argument.name in shadow.WRITTEN)
        ]

        self.plain = [
            (at, argument.name)
            for at, argument in enumerate(schema.arguments)
            if name.startswith("_fused_") and argument.name in SINGLE_PRECISION
        ]

    def written_tensors(self, args, kwargs):
        """The tensors that the operation writes to."""
        values = [args[at] if at < len(args) else kwargs.get(name) for at, name in self.written]
        return list(tensors_of(values))

    def plain_tensors(self, args, kwargs):
        """The tensors that go into each evaluation as they are."""
        values = [args[at] if at < len(args) else kwargs.get(name) for at, name in self.plain]
        return list(tensors_of(values))


class Follower:
    """Evaluates each operation on the shadows of its inputs. `display` gets what the script shows.

    `may_use_tf32` says of an operation and a kind of device whether a card may shorten factors now.
    """

    def __init__(self, table, display, may_use_tf32):
        self.table, self.display, self.may_use_tf32 = table, display, may_use_tf32
        # The last comparison of two tensors. `isclose` goes on with a decision that is not the script's.
        self.compared_at = -CLOSENESS_STEPS
        self.kinds = {}

    def before(self, number, func, types, args, kwargs):
        """Look up the shadows of the inputs, before the operation can change them; None to leave it out."""
        kind = self.kinds.get(func)
        if kind is None:
            kind = self.kinds[func] = Kind(func)
        if kind.is_view or self.table.stopped is not None:
            return None
        if not all(type_ in (torch.Tensor, torch.nn.Parameter) for type_ in types):
            return None
        step = shadow.Step(number, func, args, kwargs, kind)
        return self.table.run(number, step.name, self._begin, step)

    def _begin(self, step):
        kind = step.kind
        step.written = kind.written_tensors(step.args, step.kwargs)
        inputs = list(tensors_of([step.args, *step.kwargs.values()]))
        if kind.name in EMPTY or (kind.draws and kind.name != "native_dropout"):
            self.table.forget(step.written)
            return None
        plain = kind.plain_tensors(step.args, step.kwargs)
        numbers = [each for each in inputs if is_number(each) and not any(each is one for one in plain)]
        if not numbers:
            return None
        if kind.foreign or not all(map(shadow.is_dense, inputs)):
            self.table.forget(step.written)
            why = "not an operation of torch" if kind.foreign else "layout"
            self.table.restart(step.number, step.name, why)
            return None
        step.keys = {shadow.storage_of(tensor)._cdata for tensor in inputs}
        step.dtype = numbers[0].dtype
        step.needs_grad = any(tensor.requires_grad for tensor in numbers)
        step.views = {id(tensor): self.table.views(tensor, step=step) for tensor in numbers}
        return step

    def after(self, step, out):
        """Evaluate the operation on the shadows. `out` is what the script got."""
        if self.table.run(step.number, step.name, self._end, step, out) is None:
            # The shadows may be half written.
            outputs = [*step.written, *tensors_of([out])]
            self.table.run(step.number, step.name, self.table.forget, outputs)

    def _end(self, step, out):
        name = step.kind.name
        if name in ("_local_scalar_dense", "item"):
            (tensor,) = tensors_of([step.args])
            self.display.show("read", step.number, tensor, step.views[id(tensor)])
            return True
        if name in EQUALITIES:
            both = [tensor for tensor in tensors_of([step.args]) if is_number(tensor)]
            if len(both) == 2 and both[0].shape == both[1].shape:
                self.compared_at = step.number
                self.display.compare(step.number, both, [step.views[id(tensor)] for tensor in both])
            return True
        step.out, outputs = out, list(tensors_of([out]))
        if any(map(is_number, outputs)) or any(map(is_number, step.written)):
            self._follow(step, outputs)
        elif outputs:
            self._decide(step, outputs)
        return True

    def _follow(self, step, outputs):
        """Evaluate all copies, and store the shadows of what the operation gave."""
        fresh = [
            (at, tensor)
            for at, tensor in enumerate(outputs)
            if is_number(tensor)
            and shadow.is_dense(tensor)
            and shadow.storage_of(tensor)._cdata not in step.keys
        ]
        if not fresh and not any(map(is_number, step.written)):
            return
        results = self._results(step, outputs, [at for at, _ in fresh])
        exact = [result[shadow.REFERENCE] for result in results]
        check_finite(step, exact, outputs)
        if step.kind.name.rstrip("_") in JUMPS and outputs:
            self._note_jump(step, exact, outputs)
        for at, tensor in fresh:
            if at not in UNIQUE.get(step.kind.name, (at,)):
                if step.kind.name not in FOR_BACKWARD or step.needs_grad:
                    self.table.restart(step.number, step.name, "several right answers")
            elif at < len(results):
                self._register(tensor, results[at])
        for tensor in step.written:
            if is_number(tensor):
                entry = self.table.table[shadow.storage_of(tensor)._cdata]
                shadow.region(entry.plain, tensor).copy_(shadow.region(shadow.flat(tensor), tensor))

    def _results(self, step, outputs, fresh):
        """For each output, a result for each copy; of the last copies, rounded.

        `fresh`: the places of outputs that are no inputs.
        """
        is_exact = self._is_exact(step, outputs)
        terms = None
        if step.kind.name in SUMS and not step.written:
            (terms, *_) = tensors_of([self._evaluate(step, ABSOLUTE)])
        writes_integers = any(id(each) not in step.views for each in step.written)
        results = together.evaluate(step, writes_integers)
        if results is not None:
            if not is_exact:
                self._round_together(step, outputs, [(at, results[at]) for at in fresh], terms)
            return results
        by_copy = []
        for copy in range(shadow.COPIES):
            result = list(tensors_of([self._evaluate(step, copy)]))
            if copy in shadow.ROUNDED and not is_exact:
                for tensor in step.written:
                    if id(tensor) in step.views:
                        view = step.views[id(tensor)][copy]
                        view.copy_(self._with_rounding(step, view, tensor.dtype))
                result = [
                    self._with_rounding(step, mine, tensor.dtype, terms) if is_number(tensor) else mine
                    for mine, tensor in zip(result, outputs)
                ]
            by_copy.append(result)
        return [list(each) for each in zip(*by_copy)]

    def _round_together(self, step, outputs, fresh, terms):
        """Round the last copies of what the operation wrote to, and of its fresh results, in place."""
        rounded = slice(shadow.ROUNDED[0], shadow.ROUNDED[-1] + 1)
        views = [(step.views[id(each)], each.dtype, None) for each in step.written if id(each) in step.views]
        for view, dtype, sums in views + [(rows, outputs[at].dtype, terms) for at, rows in fresh]:
            part = view[rounded]
            part.copy_(self._with_rounding(step, part, dtype, sums))

    def _with_rounding(self, step, values, dtype, terms=None):
        """The values with what the operation may have rounded: by each element, or by the largest one.

        `terms`: for a sum, the sum of its absolute terms.
        """
        name = step.kind.name.lstrip("_")
        sizes = values.abs().max().expand_as(values) if name.startswith(BY_THE_LARGEST) else values.abs()
        if terms is not None and terms.shape == values.shape[-terms.dim() or values.dim() :]:
            sizes = torch.maximum(sizes, terms.abs())
        if name.startswith(RUNNING) and values.numel():
            sizes = sizes * math.sqrt(values.numel())
        if name in SHORTENED and self.may_use_tf32(step.func._schema.name, values.device.type):
            dtype = torch.float16
        return self.table.add_rounding(values, sizes, dtype)

    def _with_backward_error(self, step, values, copy):
        """The shadow of an input; for a stable solve or transform moved by a unit of its largest element.

        Its result is that of a matrix so close, and may be far off if the matrix is ill-conditioned.
        """
        name = step.kind.name.lstrip("_")
        if copy not in shadow.ROUNDED or not name.startswith(BY_THE_LARGEST) or step.written:
            return values
        # Elimination rounds each element once for each row above it.
        steps = max(1.0, math.sqrt(values.shape[-1]) / 2) if values.dim() and "linalg" in name else 1.0
        return self.table.add_rounding(values, steps * values.abs().max().expand(values.shape), step.dtype)

    def _register(self, tensor, results):
        """Store shadows for a new tensor, laid out as it is."""
        present = shadow.flat(tensor)
        self.table.make_room(present.numel(), present.element_size())
        if any(result.shape != tensor.shape for result in results):
            raise ValueError("another shape")
        copies = present.double().expand(shadow.COPIES, -1).clone(memory_format=torch.contiguous_format)
        region = shadow.rows_region(copies, tensor)
        if isinstance(results, torch.Tensor):
            region.copy_(shadow.real_parts(results))
        else:
            for part, result in zip(region, results):
                part.copy_(shadow.real_parts(result))
        self.table.put(tensor, present.clone(), copies)

    def _decide(self, step, outputs):
        """Note a decision (a comparison, an index, an integer) that float64 answers differently."""
        if step.kind.name == "_to_copy":
            self._note_undefined(step, outputs[0])
        is_closeness = step.kind.name == "le" and step.number - self.compared_at < CLOSENESS_STEPS
        if is_closeness or len(self.table.decisions) >= MOST_DECISIONS:
            return
        exact = list(tensors_of([self._evaluate(step, shadow.REFERENCE)]))
        differing = sum(
            int((mine != theirs).sum()) for mine, theirs in zip(exact, outputs) if mine.shape == theirs.shape
        )
        self._add_decision(step, differing)

    def _note_undefined(self, step, result):
        """Note a cast to integers of numbers that the type can't hold."""
        source = next(tensors_of([step.args]))
        if result.dtype is torch.bool or source.is_complex() or len(self.table.undefined) >= MOST_DECISIONS:
            return
        limits = torch.iinfo(result.dtype)
        values = source.double()
        # The upper limit of 64 bits is no float64; the number above it is one.
        elements = int((~((values >= limits.min) & (values < float(limits.max) + 1))).sum())
        if elements:
            self.table.undefined.append({"number": step.number, "name": step.name, "elements": elements})

    def _note_jump(self, step, exact, outputs):
        """Note a step of the result that float64 takes elsewhere."""
        height = JUMPS[step.kind.name.rstrip("_")]
        if height is None:
            divisor = step.args[1]
            height = 0.5 * (divisor.double() if isinstance(divisor, torch.Tensor) else torch.tensor(divisor))
            height = height.abs().to(outputs[0].device)
        gap = (exact[0] - outputs[0].double()).abs()
        self._add_decision(step, int((gap >= height).sum()))

    def _add_decision(self, step, elements):
        if elements and len(self.table.decisions) < MOST_DECISIONS:
            self.table.decisions.append({"number": step.number, "name": step.name, "elements": elements})

    def _evaluate(self, step, copy):
        """The operation's result on one copy of the shadows."""
        unit = torch.finfo(shadow.REAL.get(step.dtype, step.dtype)).eps

        def translate(value):
            if isinstance(value, torch.Tensor):
                if id(value) in step.views:
                    return self._with_backward_error(step, shadow_of(step, value, copy), copy)
                # Integers that the operation writes to are the script's: it may not write them twice.
                return value.clone() if any(value is each for each in step.written) else value
            if isinstance(value, (list, tuple)):
                return [translate(item) for item in value]
            if isinstance(value, torch.dtype):
                return shadow.WIDE.get(value, value)
            if isinstance(value, float) and copy in shadow.MOVED and shadow.is_broken(value):
                return value * (1 + unit if copy == shadow.MOVED[0] else 1 - unit)
            return value

        args = [translate(value) for value in step.args]
        kwargs = {name: translate(value) for name, value in step.kwargs.items()}
        if step.kind.name in shadow.FALLBACKS:
            names = [argument.name for argument in step.func._schema.arguments]
            return together.attention({**dict(zip(names, args)), **kwargs})
        if step.kind.name == "native_dropout":
            return together.dropout_of(args, step.out)
        return step.func(*args, **kwargs)

    def _is_exact(self, step, outputs):
        """Whether the operation rounds nothing."""
        name = step.kind.name.rstrip("_") if step.kind.name != "copy_" else "copy_"
        if name in ("_to_copy", "copy_") or step.kind.may_alias:
            return not outputs or torch.finfo(outputs[0].dtype).eps <= torch.finfo(step.dtype).eps
        return name in EXACT


def check_finite(step, exact, outputs):
    """Raise ValueError if float64 gives NaN for a number of the script: its kernel is no reference here."""
    pairs = list(zip(exact, outputs))
    pairs += [
        (step.views[id(each)][shadow.REFERENCE], each) for each in step.written if id(each) in step.views
    ]
    for mine, theirs in pairs:
        if is_number(theirs) and mine.shape == theirs.shape:
            if bool((torch.isnan(mine) & torch.isfinite(theirs)).any()):
                raise ValueError("no number")


def is_composite(schema):
    """Whether an operation is made of other operations of torch."""
    name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeImplicitAutograd")


def shadow_of(step, tensor, copy):
    """One of the shadows of an input; with ABSOLUTE the reference's absolute values."""
    if copy == ABSOLUTE:
        return step.views[id(tensor)][shadow.REFERENCE].abs().to(shadow.WIDE[tensor.dtype])
    return step.views[id(tensor)][copy]
