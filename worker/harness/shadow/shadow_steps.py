"""Follows a script's operations with their shadows.

`trace.py` loads it, with the other parts of the shadow.
"""

import math

import torch

shadow = globals()["shadow"]
together = globals()["together"]
kinds = globals()["step_kinds"]
whole_numbers, choices = globals()["whole_numbers"], globals()["choices"]
tensors_of, is_number = shadow.tensors_of, shadow.is_number

ABSOLUTE = shadow.COPIES
MOST_DECISIONS = 5
PLAIN = {torch.Tensor, torch.nn.Parameter}
# Two tensors that differ by less than this share are meant to be the same; more elements are not compared.
ALIKE, MOST_COMPARED = 0.5, 1 << 20
# The most operations from `isclose`'s first comparison to its last.
CLOSENESS_STEPS = 12


class Follower:
    """Evaluates each operation on the shadows of its inputs. `display` gets what the script shows.

    `may_use_tf32` says of an operation and a kind of device whether a card may shorten factors now.
    """

    def __init__(self, table, display, may_use_tf32):
        self.table, self.display, self.may_use_tf32 = table, display, may_use_tf32
        # The last comparison of two tensors. `isclose` goes on with a decision that is not the script's.
        self.compared_at = -CLOSENESS_STEPS
        self.masks = globals()["masks"].Masks()
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
            return None if step.exact is None else step
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
        return step

    def after(self, step, out):
        """Evaluate the operation on the shadows. `out` is what the script got."""
        if self.table.run(step.number, step.name, self._end, step, out) is None:
            # The shadows may be half written.
            outputs = [*step.written, *tensors_of([out])]
            step.entries.clear()
            self.table.run(step.number, step.name, self.table.forget, outputs)

    def _end(self, step, out):
        if step.exact is not None:
            (result, *_) = tensors_of([step.args[0] if step.written else out])
            whole_numbers.note(self.table, step, result)
            return True
        name = step.kind.name
        if name in ("_local_scalar_dense", "item"):
            (tensor,) = tensors_of([step.args])
            self.display.show("read", step.number, tensor, step.views[id(tensor)])
            return True
        if name in kinds.EQUALITIES:
            both = [tensor for tensor in tensors_of([step.args]) if is_number(tensor)]
            if len(both) == 2 and both[0].shape == both[1].shape:
                self.compared_at = step.number
                self.display.compare(step.number, both, [step.views[id(tensor)] for tensor in both])
            return True
        if name == "sub":
            choices.note_itself(self.table.of_itself, step)
        if name == "sub" and len(step.views) == 2 and not any(map(shadow.is_unmade, step.args[:2])):
            if step.args[0].shape == step.args[1].shape:
                self.difference = (*step.args[:2], out, False)
        step.out, outputs = out, list(tensors_of([out]))
        if any(map(is_number, outputs)) or any(map(is_number, step.written)):
            self._follow(step, outputs)
        elif outputs:
            self._decide(step, outputs)
        return True

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
        self.masks.look(step, results, lambda: self._evaluate(step, shadow.REFERENCE))
        if not step.finite:
            together.check_finite(step, [result[shadow.REFERENCE] for result in results], outputs)
        self._take_own(step, outputs, [(at, results[at]) for at, _ in fresh if at < len(results)])
        self._note_jump(step, results, outputs)
        for at, tensor in fresh:
            if at not in kinds.UNIQUE.get(step.kind.name, (at,)):
                # Without vectors there is no choice.
                if tensor.numel() and (step.kind.name not in kinds.FOR_BACKWARD or step.needs_grad):
                    self.table.choose(tensor)
                    self.table.restart(step.number, step.name, "several right answers")
            elif at < len(results):
                entry = step.entries[id(tensor)] = self._register(tensor, results[at])
                entry.maker = step.name
        for tensor in step.written:
            if is_number(tensor):
                entry = self.table.table[shadow.storage_of(tensor)._cdata]
                entry.renew(tensor)
                entry.maker = step.name
                # Torch counts the change after this.
                entry.version = choices.version_of(tensor) + 1
                step.entries[id(tensor)] = entry

    def _results(self, step, outputs, fresh):
        """For each output, a result for each copy; of the last copies, rounded.

        `fresh`: the places of outputs that are no inputs.
        """
        is_exact = self._is_exact(step, outputs)
        step.terms = terms = None
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
        results = [list(each) for each in zip(*by_copy)]
        if step.kind.name.lstrip("_").startswith(kinds.SOLVES) and not step.written:
            results = list(map(together.move_far, results))
        return results

    def _round_together(self, step, outputs, fresh, terms):
        """Round the last copies of what the operation wrote to, and of its fresh results, in place."""
        rounded = slice(shadow.ROUNDED[0], shadow.ROUNDED[-1] + 1)
        is_plain = not step.kind.rounds_together and not self._is_shortened(step, outputs)
        views = [(step.views[id(each)], each.dtype, None) for each in step.written if id(each) in step.views]
        for view, dtype, sums in views + [(rows, outputs[at].dtype, terms) for at, rows in fresh]:
            part = view[rounded]
            if is_plain and not part.is_complex():
                self.table.noise.round_in_place(part, sums, coarser(step, dtype), finite=step.finite)
                self.table.noise.keep_range(part, dtype)
                continue
            part.copy_(self._with_rounding(step, part, dtype, sums))

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
            close = together.is_close(mine, theirs, step.terms)
            proved = proved and bool(close)
            self.table.all_nearest = self.table.all_nearest and close == together.NEAREST
            if mine.shape == theirs.shape:
                mine.copy_(theirs)
        step.proved = proved and bool(pairs)

    def _with_rounding(self, step, values, dtype, terms=None):
        """The values with what the operation may have rounded: by each element, or by the largest one.

        `terms`: for a sum, the sum of its absolute terms.
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

    def _decide(self, step, outputs):
        """Note a decision (a comparison, an index, an integer) that float64 answers differently."""
        if step.name in choices.CHOICES:
            step.proved, is_tied = choices.look(step, outputs[0])
            if is_tied:
                self.table.restart(step.number, step.name, "several right answers")
            near = [self._evaluate(step, copy) for copy in shadow.ROUNDED]
            if others := choices.others(step, outputs[0], near):
                self._add_decision(step, others)
                return
        if step.kind.name == "_to_copy":
            whole_numbers.note_undefined(self.table, step, outputs[0])
        is_closeness = step.kind.name == "le" and step.number - self.compared_at < CLOSENESS_STEPS
        if is_closeness or len(self.table.decisions) >= MOST_DECISIONS:
            return
        exact = list(tensors_of([self._evaluate(step, shadow.REFERENCE)]))
        differing = sum(
            int((mine != theirs).sum()) for mine, theirs in zip(exact, outputs) if mine.shape == theirs.shape
        )
        self._add_decision(step, differing, single=outputs[0].numel() == 1)
        if differing and outputs[0].dtype is torch.bool and self.table.decisions[-1]["number"] == step.number:
            self.masks.note(outputs[0], exact[0], self.table.decisions[-1])

    def _note_jump(self, step, results, outputs):
        """Note a step of the result that float64 takes elsewhere, or a failure that it does not have."""
        self._add_decision(step, choices.decided_by_rounding(step, outputs, results), single=True)
        if step.kind.base not in kinds.STEPS or not outputs:
            return
        exact = results[0][shadow.REFERENCE]
        height = kinds.STEPS[step.kind.base]
        if step.kwargs.get("decimals"):
            height = 0.5 * 10.0 ** -step.kwargs["decimals"]
        if height is None:
            divisor = step.args[1]
            height = 0.5 * (divisor.double() if isinstance(divisor, torch.Tensor) else torch.tensor(divisor))
            height = height.abs().to(outputs[0].device)
        gap = (exact - outputs[0].double()).abs()
        self._add_decision(step, int((gap >= height).sum()))

    def _add_decision(self, step, elements, *, single=False):
        if elements and len(self.table.decisions) < MOST_DECISIONS:
            facts = {"number": step.number, "name": step.name, "elements": elements, "single": single}
            self.table.decisions.append(facts)

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
