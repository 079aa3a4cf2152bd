"""Follows a script's operations with their shadows.

`trace.py` loads it, with the other parts of the shadow.
"""

import math

import torch

shadow = globals()["shadow"]
together = globals()["together"]
kinds = globals()["step_kinds"]
whole_numbers, choices = globals()["whole_numbers"], globals()["choices"]
decisions, formulas = globals()["decisions"], globals()["formulas"]
tensors_of, is_number = shadow.tensors_of, shadow.is_number

ABSOLUTE = shadow.COPIES
PLAIN = {torch.Tensor, torch.nn.Parameter}
# Two tensors that differ by less than this share are meant to be the same; more elements are not compared.
ALIKE, MOST_COMPARED = 0.5, 1 << 20


class Follower:
    """Evaluates each operation on the shadows of its inputs. `display` gets what the script shows.

    `may_use_tf32` says of an operation and a kind of device whether a card may shorten factors now.
    """

    def __init__(self, table, display, may_use_tf32):
        self.table, self.display, self.may_use_tf32 = table, display, may_use_tf32
        self.decisions = decisions.Decisions(table, self._reference_of)
        self.flips = display.flips = self.decisions.flips
        # The last operation, if it took the difference of two tensors of one shape: both, the result, and
        # whether it has taken the size of that.
        self.difference = None

    def before(self, number, call, types, inputs):
        """Look up the shadows of the inputs, before the operation can change them; None to leave it out."""
        kind = call.known.kind
        if kind.is_view or self.table.stopped is not None or not PLAIN.issuperset(types):
            return None
        step = shadow.Step(number, call)
        if self.difference is not None:
            self.table.run(number, step.name, self._measure, step)
        return self.table.run(number, step.name, self._begin, step, inputs)

    def _begin(self, step, inputs):
        kind = step.kind
        step.written = kind.written_tensors(step.args, step.kwargs)
        if kind.name in kinds.EMPTY:
            self.table.forget(step.written)
            return None
        drawn = kind.may_draw and kinds.stand_ins.draws(step.func, step.args, step.kwargs)
        if drawn and kind.name != "native_dropout":
            self.table.forget(step.written)
            if drawn == "more":
                self.table.restart(step.number, step.name, "it draws random numbers")
            return None
        plain = kind.plain_tensors(step.args, step.kwargs)
        numbers = [each for each in inputs if each.dtype in shadow.WIDE]
        numbers = [each for each in numbers if not any(each is one for one in plain)] if plain else numbers
        if not numbers:
            step.exact = whole_numbers.before(step, inputs)
            step.follows = self.flips.look_at_integers(step) if self.flips.flips else None
            return None if step.exact is None and step.follows is None else step
        if kind.foreign or kind.unknown or not all(map(shadow.is_dense, inputs)):
            self.table.forget(step.written)
            known = "not in float64" if kind.unknown else "layout"
            why = "not an operation of torch" if kind.foreign else known
            self.table.restart(step.number, step.name, why)
            return None
        step.keys = {shadow.storage_of(each)._cdata for each in inputs if not shadow.is_unmade(each)}
        step.dtype = numbers[0].dtype
        step.needs_grad = kind.name in kinds.FOR_BACKWARD and any(each.requires_grad for each in numbers)
        step.views = {id(tensor): self.table.views(tensor, step=step) for tensor in numbers}
        choices.look_behind(self.table, step, numbers)
        if self.flips.flips:
            self.flips.look_at_numbers(step, self._reference_of)
        return step

    def _reference_of(self, step):
        """The operation's result on the references of its inputs."""
        return self._evaluate(step, shadow.REFERENCE)

    def after(self, step, out):
        """Evaluate the operation on the shadows. `out` is what the script got."""
        if self.table.run(step.number, step.name, self._end, step, out) is None:
            # The shadows may be half written.
            outputs = [*step.written, *tensors_of([out])]
            step.entries.clear()
            self.table.run(step.number, step.name, self.table.forget, outputs)

    def _end(self, step, out):
        if step.exact is not None or step.follows is not None:
            self._end_of_integers(step, out)
            return True
        name = step.kind.name
        if name in ("_local_scalar_dense", "item"):
            (tensor,) = tensors_of([step.args])
            self.display.show("read", step.number, tensor, step.views[id(tensor)])
            return True
        if name in kinds.EQUALITIES:
            both = [tensor for tensor in tensors_of([step.args]) if is_number(tensor)]
            if len(both) == 2 and both[0].shape == both[1].shape:
                self.decisions.compared_at = step.number
                self.display.compare(step.number, both, [step.views[id(tensor)] for tensor in both])
            return True
        if name == "sub":
            choices.note_itself(self.table.of_itself, step)
        if name == "sub" and len(step.views) == 2 and self._is_comparison(*step.args[:2]):
            self.difference = (*step.args[:2], out, False)
        step.out, outputs = out, list(tensors_of([out]))
        if any(map(is_number, outputs)) or any(map(is_number, step.written)):
            self._follow(step, outputs)
        elif outputs:
            self.decisions.decide(step, outputs)
        return True

    def _end_of_integers(self, step, out):
        """As `_end`, for an operation that takes no numbers with a shadow."""
        (result, *_) = tensors_of([step.args[0] if step.written else out])
        if step.follows is not None:
            self.flips.note(result, *step.follows)
        if step.exact is not None:
            whole_numbers.note(self.table, step, result)

    def _is_comparison(self, one, other):
        """Whether a difference may compare two tensors. A number less its whole part is a fraction."""
        if shadow.is_unmade(one) or shadow.is_unmade(other) or one.shape != other.shape:
            return False
        are_steps = [self.table.maker_of(each, name=True)[6:] in kinds.JUMPS for each in (one, other)]
        return are_steps[0] == are_steps[1]

    def _measure(self, step):
        """Note a comparison: the script asks how far apart two tensors are.

        By the largest distance of elements, or by another size if they are much the same and no loss.
        """
        (one, other, difference, is_size), self.difference = self.difference, None
        name, measured = step.kind.name, next(tensors_of([step.args]), None)
        if one.numel() > MOST_COMPARED or not (is_size or measured is difference):
            return
        if name == "abs":
            self.difference = (one, other, difference, True)
            return
        if name not in kinds.LARGEST:
            if one.requires_grad or other.requires_grad or name not in kinds.SIZES:
                return
            size, gaps = max(float(one.abs().sum()), float(other.abs().sum())), float(difference.abs().sum())
            if gaps > ALIKE * size or (name in kinds.SIGNED and kinds.cancels(difference, gaps)):
                return
        both = [one.detach(), other.detach()]
        self.display.compare(step.number, both, [self.table.views(each) for each in both])

    def _follow(self, step, outputs):
        """Evaluate all copies, and store the shadows of what the operation gave."""
        fresh = [
            (at, tensor)
            for at, tensor in enumerate(outputs)
            if is_number(tensor)
            and shadow.is_dense(tensor)
            and not shadow.is_unmade(tensor)
            and shadow.storage_of(tensor)._cdata not in step.keys
        ]
        if not fresh and not any(map(is_number, step.written)):
            return
        results = self._results(step, outputs, [at for at, _ in fresh])
        if not step.finite:
            together.check_finite(step, [result[shadow.REFERENCE] for result in results], outputs)
        self._take_own(step, outputs, [(at, results[at]) for at, _ in fresh if at < len(results)])
        self.decisions.note_step(step, outputs, results)
        self.decisions.note_order(step, outputs)
        for at, tensor in fresh:
            if at not in kinds.UNIQUE.get(step.kind.name, (at,)):
                # Without vectors there is no choice.
                if tensor.numel() and (step.kind.name not in kinds.FOR_BACKWARD or step.needs_grad):
                    self.table.choose(tensor)
                    self.table.restart(step.number, step.name, "several right answers")
            elif at < len(results):
                entry = step.entries[id(tensor)] = self._register(tensor, results[at])
                entry.maker, entry.formula = step.name, formulas.formula_of(step)
        for tensor in step.written:
            if is_number(tensor):
                entry = self.table.table[shadow.storage_of(tensor)._cdata]
                entry.renew(tensor)
                formulas.update(entry, step)
                # Torch counts the change after this.
                entry.version = choices.version_of(tensor) + 1
                step.entries[id(tensor)] = entry

    def _results(self, step, outputs, fresh):
        """For each output, a result for each copy; of the last copies, rounded.

        `fresh`: the places of outputs that are no inputs.
        """
        is_exact = self._is_exact(step, outputs)
        step.terms = terms = None
        if step.kind.name in ("_unique", "_unique2"):
            rows, elements = choices.unique_elements(step, outputs[0])
            self.decisions.add(step, elements)
            return [rows]
        if step.kind.name in kinds.SUMS and not step.written:
            terms = together.terms_of(step)
            if terms is None:
                (terms, *_) = tensors_of([self._evaluate(step, ABSOLUTE)])
        step.terms = terms
        writes_integers = any(id(each) not in step.views for each in step.written)
        results = together.evaluate(step, writes_integers)
        step.finite = results is not None and together.are_finite(results)
        if results is not None:
            if not is_exact:
                self._round_together(step, outputs, [(at, results[at]) for at in fresh], terms)
            return results
        by_copy = [list(tensors_of([self._evaluate(step, copy)])) for copy in range(shadow.COPIES)]
        if not is_exact:
            self._round_singly(step, outputs, by_copy, terms)
        results = [list(each) for each in zip(*by_copy)]
        if step.kind.name.lstrip("_").startswith(kinds.SOLVES) and not step.written:
            results = list(map(together.move_far, results))
        return results

    def _round_singly(self, step, outputs, by_copy, terms):
        """As `_round_together`, for results that lie apart: a list of them for each copy."""
        for tensor in step.written:
            if id(tensor) in step.views:
                view = step.views[id(tensor)]
                share = together.share_of_rounding(step, view[shadow.OWN], tensor, None)
                for copy in shadow.ROUNDED:
                    view[copy].copy_(self._with_rounding(step, view[copy], tensor.dtype, share=share))
        for at, tensor in enumerate(outputs):
            if is_number(tensor) and at < len(by_copy[0]):
                share = together.share_of_rounding(step, by_copy[shadow.OWN][at], tensor, terms)
                for copy in shadow.ROUNDED:
                    mine = by_copy[copy]
                    mine[at] = self._with_rounding(step, mine[at], tensor.dtype, terms, share)

    def _round_together(self, step, outputs, fresh, terms):
        """Round the last copies of what the operation wrote to, and of its fresh results, in place."""
        rounded = slice(shadow.ROUNDED[0], shadow.ROUNDED[-1] + 1)
        is_plain = not step.kind.rounds_together and not self._is_shortened(step, outputs)
        views = [(step.views[id(each)], each, None) for each in step.written if id(each) in step.views]
        for view, tensor, sums in views + [(rows, outputs[at], terms) for at, rows in fresh]:
            part = view[rounded]
            if is_plain and not part.is_complex():
                share = together.share_of_rounding(step, view[shadow.OWN], tensor, sums)
                dtype = coarser(step, tensor.dtype)
                self.table.noise.round_in_place(part, sums, dtype, share, finite=step.finite)
                self.table.noise.keep_range(part, tensor.dtype, tensor)
                continue
            part.copy_(self._with_rounding(step, part, tensor.dtype, sums))

    def _is_shortened(self, step, values):
        """Whether a card may have shortened the factors to TF32."""
        if step.kind.name not in kinds.SHORTENED or not values:
            return False
        return self.may_use_tf32(step.func._schema.name, values[0].device.type)

    def _take_own(self, step, outputs, fresh):
        """Note whether float64 on the script's own inputs gives its results, and go on with these.

        `fresh`: places of outputs that are no inputs, with their results.
        """
        pairs = [(step.views[id(each)], each) for each in step.written if id(each) in step.views]
        pairs += [(results, outputs[at]) for at, results in fresh]
        proved = step.kind.is_proved
        for results, theirs in pairs:
            mine = results[shadow.OWN]
            close = together.is_close(step, mine, theirs, step.terms)
            proved = proved and bool(close)
            self.table.all_nearest = self.table.all_nearest and close == together.NEAREST
            if mine.shape == theirs.shape:
                mine.copy_(step.wide.get(id(theirs), theirs))
        step.proved = proved and bool(pairs)

    def _with_rounding(self, step, values, dtype, terms=None, share=None):
        """The values with what the operation may have rounded: by each element, or by the largest one.

        `terms`: for a sum, the sum of its absolute terms. `share`: where it has rounded.
        """
        name = step.kind.name.lstrip("_")
        if not values.numel():
            return values
        sizes = (
            values.abs().max().expand_as(values) if name.startswith(kinds.BY_THE_LARGEST) else values.abs()
        )
        if terms is not None and terms.shape == values.shape[-terms.dim() or values.dim() :]:
            sizes = torch.maximum(sizes, terms.abs())
        in_wider = name == "cumsum" and values.device.type == "cpu" and dtype in (torch.half, torch.bfloat16)
        if name.startswith(kinds.RUNNING) and not in_wider:
            if not name.startswith("cumprod"):
                # Each addition rounds by the sum so far, or by that of a part, the difference of two sums.
                sizes = 2 * values.abs().max().expand_as(values)
            sizes = sizes * math.sqrt(values.numel())
        if name == "prod":
            # Factors close to one may be rounded to the same side again and again.
            sizes = sizes * max(1.0, step.args[0].numel() / max(1, values.numel()))
        if share is not None and share.shape == sizes.shape and not name.startswith(kinds.BY_THE_LARGEST):
            sizes = sizes * share
        rounded_to = torch.float16 if self._is_shortened(step, [values]) else coarser(step, dtype)
        return self.table.noise.keep_range(self.table.noise.add_rounding(values, sizes, rounded_to), dtype)

    def _with_backward_error(self, step, values, copy):
        """The shadow of an input; for a stable solve or transform moved by a unit of its largest element.

        Its result is that of a matrix so close, and may be far off if the matrix is ill-conditioned.
        """
        name = step.kind.name.lstrip("_")
        if copy not in shadow.ROUNDED or not name.startswith(kinds.BY_THE_LARGEST) or step.written:
            return values
        # Elimination rounds each element once for each row above it.
        steps = max(1.0, math.sqrt(values.shape[-1]) / 2) if values.dim() and "linalg" in name else 1.0
        return self.table.noise.add_rounding(
            values, steps * values.abs().max().expand(values.shape), step.dtype
        )

    def _register(self, tensor, results):
        """Store shadows for a new tensor, laid out as it is. Returns their Entry."""
        if shadow.is_whole(tensor) and results.__class__ is torch.Tensor and results.dtype is torch.float64:
            if results.is_contiguous() and results.shape[1:] == tensor.shape:
                self.table.make_room(tensor.numel(), tensor.element_size())
                entry = self.table.put(tensor, tensor.clone().view(-1), results.view(shadow.COPIES, -1))
                entry.put_view(tensor, results)
                return entry
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
        return self.table.put(tensor, present.clone(), copies)

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
        if step.kind.stand_in is not None:
            return step.kind.stand_in(*args, **kwargs)
        if step.kind.base == "nan_to_num":
            args, kwargs = kinds.stand_ins.with_limits(args, kwargs, step.dtype)
        if step.kind.name == "native_dropout":
            return together.dropout_of(args, step.out)
        return step.func(*args, **kwargs)

    def _is_exact(self, step, outputs):
        """Whether the operation rounds nothing."""
        if step.kind.base in ("_to_copy", "copy") or step.kind.may_alias:
            return not outputs or torch.finfo(outputs[0].dtype).eps <= torch.finfo(step.dtype).eps
        return step.kind.is_exact


def coarser(step, dtype):
    """The dtype in which a result was rounded: torch computes in that of the inputs, whatever `out` has."""
    dtype = shadow.REAL.get(dtype, dtype)
    inputs = shadow.REAL.get(step.dtype, step.dtype)
    is_wider = step.kind.only_writes and torch.finfo(inputs).eps > torch.finfo(dtype).eps
    return inputs if is_wider else dtype


def shadow_of(step, tensor, copy):
    """One of the shadows of an input; with ABSOLUTE the absolute values of the script's own."""
    if copy == ABSOLUTE:
        return step.views[id(tensor)][shadow.OWN].abs().to(shadow.WIDE[tensor.dtype])
    return step.views[id(tensor)][copy]
