"""Follows truth values and indices that rounding decides, until something else is made of them.

`trace.py` loads it, with `shadow`.
"""

import torch
from torch.multiprocessing.reductions import StorageWeakRef

shadow = globals()["shadow"]
tensors_of = shadow.tensors_of

# A number follows if it moves by this share of the largest one: at a joint of two pieces it hardly does.
JUMP = 1e-3
MOST_FLIPS, MOST_ELEMENTS = 64, 1 << 20
READ = "aten::_local_scalar_dense"


class Flips:
    """Tensors of which rounding decides an element, with the other answer.

    `confirm(decision)` is called with the facts of the decision once a shown value or a number follows it.
    """

    def __init__(self, confirm):
        self.flips, self.confirm = {}, confirm

    def note(self, tensor, other, decision):
        """Note a tensor with its other answer, and the facts of the decision."""
        if tensor.numel() > MOST_ELEMENTS:
            self.confirm(decision)
            return
        if len(self.flips) >= MOST_FLIPS:
            self.flips = {key: flip for key, flip in self.flips.items() if not flip[0].expired()}
        if len(self.flips) >= MOST_FLIPS:
            return
        storage = shadow.storage_of(tensor)
        elements = shadow.flat(tensor).clone()
        shadow.region(elements, tensor).copy_(other)
        self.flips[storage._cdata] = (StorageWeakRef(storage), elements, decision)

    def has(self, tensor):
        """Whether rounding decides an element of a tensor."""
        return bool(self.flips) and type(tensor) is torch.Tensor and self.flip_of(tensor) is not None

    def flip_of(self, tensor):
        """The elements of the other answer, and the decision; None if there is none."""
        if tensor.is_floating_point() or tensor.is_complex() or tensor.layout is not torch.strided:
            return None
        flip = self.flips.get(shadow.storage_of(tensor)._cdata)
        if flip is None or flip[0].expired() or flip[1].dtype is not tensor.dtype:
            return None
        return flip[1:]

    def decision_of(self, values):
        """The decision that one of these arguments follows, if it is not confirmed yet; else None."""
        for tensor in tensors_of([values]):
            flip = self.flip_of(tensor)
            if flip is not None and not flip[1]["single"]:
                return flip[1]
        return None

    def others(self, value):
        """Arguments with the other answers in place of those that the script has."""
        if isinstance(value, torch.Tensor):
            flip = self.flip_of(value)
            return value if flip is None else shadow.region(flip[0], value)
        if isinstance(value, (list, tuple)):
            return [self.others(each) for each in value]
        return value

    def show(self, tensor):
        """Look at a tensor that the script shows."""
        flip = self.flip_of(tensor)
        if flip is not None and not torch.equal(shadow.region(flip[0], tensor), tensor):
            self.confirm(flip[1])

    def look_at_integers(self, step):
        """Look at an operation on integers and truth values, before it runs.

        Returns the other answer and the decision, if the result follows it.
        """
        decision = self.decision_of([step.args, *step.kwargs.values()])
        if decision is None or step.kind.may_alias:
            return None
        if step.kind.written or step.kwargs.get("out") is not None:
            self.confirm(decision)
            return None
        if step.name == READ:
            self.show(step.args[0])
            return None
        both = [step.func(*args, **step.kwargs) for args in (step.args, self.others(step.args))]
        mine, other = (list(tensors_of([each])) for each in both)
        if all(map(is_same, mine, other)):
            return None
        if len(mine) == 1 and not shadow.is_number(mine[0]) and mine[0].shape == other[0].shape:
            return other[0], decision
        self.confirm(decision)
        return None

    def look_at_numbers(self, step, evaluate):
        """Look at an operation that takes numbers, too, before it runs. `evaluate(step)` gives its result."""
        decision = self.decision_of([step.args, *step.kwargs.values()])
        if decision is None or step.kind.may_alias:
            return
        args, views, results = step.args, step.views, []
        try:
            for step.args in (args, self.others(args)):
                # An operation in place writes to a copy.
                step.views = {key: [rows[shadow.REFERENCE].clone()] for key, rows in views.items()}
                results.append(list(tensors_of([evaluate(step)])))
        finally:
            step.args, step.views = args, views
        if any(moves(one, other) for one, other in zip(*results)):
            self.confirm(decision)


def is_same(one, other):
    """Whether two tensors have the same shape and elements."""
    return one.shape == other.shape and torch.equal(one, other)


def moves(one, other):
    """Whether a result is clearly another one."""
    if one.shape != other.shape:
        return True
    if not one.numel():
        return False
    if not shadow.is_number(one):
        return not torch.equal(one, other)
    one, other = shadow.real_parts(one), shadow.real_parts(other)
    gaps = (one - other).abs().nan_to_num(0.0)
    finite = one.abs().nan_to_num(0.0, 0.0, 0.0)
    return bool((gaps > JUMP * finite.max()).any())
