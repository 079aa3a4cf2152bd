"""Notes what rounding decides: truth values, steps, integers and orders.

`trace.py` loads it, with the other parts of the shadow.
"""

import torch

shadow, kinds, choices = globals()["shadow"], globals()["step_kinds"], globals()["choices"]
tensors_of = shadow.tensors_of
whole_numbers, flips = globals()["whole_numbers"], globals()["flips"]

# Decisions that a number follows, and truth values that none has followed yet.
MOST_DECISIONS, MOST_WEAK = 5, 3
# The most operations from `isclose`'s first comparison to its last.
CLOSENESS_STEPS = 12
# They answer differently on either side of a number.
EDGES = {"gt", "ge", "lt", "le", "searchsorted", "bucketize"}
# They make whole numbers of a quotient that is rounded itself.
QUOTIENTS = {"floor_divide", "div", "remainder", "fmod"}


class Decisions:
    """Notes decisions in the table. `evaluate(step)` gives an operation's reference, by `step.views`."""

    def __init__(self, table, evaluate):
        self.table, self.evaluate = table, evaluate
        self.flips = flips.Flips(self.confirm)
        # The last comparison of two tensors. `isclose` goes on with a decision that is not the script's.
        self.compared_at = -CLOSENESS_STEPS
        # Truth values that no number has followed yet.
        self.weak = 0

    def decide(self, step, outputs):
        """Note truth values, indices or integers that float64 or another rounding gives differently."""
        if step.name in choices.CHOICES:
            step.proved, is_tied = choices.look(step, outputs[0])
            if is_tied:
                self.table.restart(step.number, step.name, "several right answers")
            self.add(step, choices.elements_as_good(step, outputs[0]))
            return
        if step.kind.name == "_to_copy":
            whole_numbers.note_undefined(self.table, step, outputs[0])
        if step.kind.name == "le" and step.number - self.compared_at < CLOSENESS_STEPS:
            return
        results = [list(tensors_of([self.evaluate(step)]))]
        mine = outputs[0]
        is_cast = step.kind.name == "_to_copy" and mine.dtype is not torch.bool
        if is_cast or step.kind.name in EDGES:
            results += self.moved_apart(step)
        others = [each[0] for each in results if each and each[0].shape == mine.shape]
        counts = [int((each != mine).sum()) for each in others]
        if not any(counts):
            return
        facts = self.facts(step, max(counts), single=mine.numel() == 1)
        if mine.dtype is torch.bool and mine.numel() > 1:
            self.add_weak(facts)
            self.flips.note(mine, others[counts.index(max(counts))], facts)
        else:
            self.confirm(facts)

    def note_step(self, step, outputs, results):
        """Note a step of the result that float64 or another rounding takes elsewhere."""
        if not outputs:
            return
        if step.kind.name.endswith("_ex"):
            self.add(step, int(choices.fails_by_rounding(outputs, results)), single=True)
        height = height_of(step, outputs[0])
        if height is None:
            return
        others = [results[0][shadow.REFERENCE]]
        if not step.written:
            others += [each[0] for each in self.moved_apart(step)]
        gaps = torch.stack([(each - outputs[0].double()).abs() for each in others]).max(0)[0]
        self.add(step, int((gaps >= height).sum()))

    def note_order(self, step, outputs):
        """Note indices that come with ordered elements, where rounding decides the order."""
        if step.kind.name not in choices.ORDERS or len(outputs) < 2 or outputs[1].dtype is not torch.int64:
            return
        other, elements = choices.other_order(step, outputs[1])
        if elements:
            self.flips.note(outputs[1], other, self.facts(step, elements))

    def moved_apart(self, step):
        """The results with the inputs moved as far as rounding may. None if nothing was rounded.

        The first input up and the others down, and the other way round.
        """
        views = step.views
        reaches = {key: choices.reach_of(rows) for key, rows in views.items()}
        first = id(step.args[0])
        if step.kind.base in QUOTIENTS and first in reaches:
            # It may get the shape of the quotient, which changes nothing.
            reaches[first] = reaches[first] + reach_of_quotient(step)
        if any(rows.is_complex() for rows in views.values()):
            return []
        if not any(bool(each.any()) for each in reaches.values()):
            return []
        results = []
        for sign in (1, -1):
            step.views, turn = {}, sign
            for key, rows in views.items():
                step.views[key] = [rows[shadow.REFERENCE] + turn * reaches[key]]
                turn = -sign
            try:
                results.append(list(tensors_of([self.evaluate(step)])))
            finally:
                step.views = views
        return results

    def facts(self, step, elements, *, single=False):
        """The facts of a decision."""
        return {"number": step.number, "name": step.name, "elements": elements, "single": single}

    def add(self, step, elements, *, single=False):
        """Note a decision about so many elements; none if there are no elements."""
        if elements:
            self.confirm(self.facts(step, elements, single=single), single=single)

    def add_weak(self, facts):
        """Note truth values that nothing has followed yet."""
        self.weak += 1
        if self.weak <= MOST_WEAK:
            self.table.decisions.append(facts)

    def confirm(self, facts, *, single=True):
        """Note a decision that a number follows."""
        facts["single"] = single
        rows = self.table.decisions
        if not any(each is facts for each in rows) and len(rows) < MOST_DECISIONS + MOST_WEAK:
            rows.append(facts)


def reach_of_quotient(step):
    """How far a division within the operation may carry its first input; not where it is exact."""
    first, other = step.args[:2]
    rows, dtype = step.views[id(first)], shadow.REAL.get(step.dtype, step.dtype)
    if isinstance(other, torch.Tensor):
        divisor = step.views[id(other)][shadow.OWN] if id(other) in step.views else other.double()
    else:
        divisor = torch.tensor(other, dtype=dtype).double().to(rows.device)
    quotient = rows[shadow.OWN] / divisor
    reach = rows[shadow.REFERENCE].abs() * torch.finfo(dtype).eps
    return torch.where(quotient == quotient.round(), torch.zeros_like(reach), reach)


def height_of(step, output):
    """The height of an operation's steps; None if it has none."""
    if step.kind.base == "div":
        return 0.5 if step.kwargs.get("rounding_mode") else None
    if step.kind.base not in kinds.STEPS:
        return None
    if step.kwargs.get("decimals"):
        return 0.5 * 10.0 ** -step.kwargs["decimals"]
    height = kinds.STEPS[step.kind.base]
    if height is None:
        divisor = step.args[1]
        height = 0.5 * (divisor.double() if isinstance(divisor, torch.Tensor) else torch.tensor(divisor))
        height = height.abs().to(output.device)
    return height
