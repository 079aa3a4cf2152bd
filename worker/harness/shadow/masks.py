"""Notes whether numbers follow a truth value that float64 answers differently. `trace.py` loads it."""

import torch
from torch.multiprocessing.reductions import StorageWeakRef

shadow = globals()["shadow"]

# By the truth values of a mask they choose numbers.
CHOOSE = {"where", "masked_fill", "mul"}
# A number follows if it moves by this share of the largest one: at a joint of two pieces it hardly does.
JUMP = 1e-3


class Masks:
    """The masks in which float64 has other truth values: `flips` has those, by the name of the storage."""

    def __init__(self):
        self.flips = {}

    def note(self, mask, exact, decision):
        """Note a mask with the one of float64, and the facts of the decision."""
        storage = shadow.storage_of(mask)
        self.flips[storage._cdata] = (StorageWeakRef(storage), mask.shape, exact, decision)

    def flip_of(self, tensor):
        """The mask of float64 in place of a tensor, and the decision; None if both are the same."""
        if tensor.dtype is not torch.bool:
            return None
        flip = self.flips.get(shadow.storage_of(tensor)._cdata)
        if flip is None or flip[0].expired() or flip[1] != tensor.shape:
            return None
        return flip[2:]

    def look(self, step, results, evaluate):
        """Mark the decision if the results of an operation are clearly other ones with the mask of float64.

        `evaluate` gives the result of float64, by the arguments that `step` has.
        """
        if not self.flips or step.kind.base not in CHOOSE or len(results) != 1 or step.written:
            # An operation in place would write to the shadow.
            return
        flips = [self.flip_of(each) for each in shadow.tensors_of([step.args])]
        flip = next((each for each in flips if each is not None), None)
        if flip is None or flip[1]["single"]:
            return
        exact, decision = flip
        before = step.args
        step.args = [exact if self.flip_of_any(each) else each for each in before]
        try:
            (other, *_) = shadow.tensors_of([evaluate()])
        finally:
            step.args = before
        mine = results[0][shadow.REFERENCE]
        gaps = shadow.real_parts(mine - other).abs().nan_to_num(0.0)
        largest = shadow.real_parts(mine).abs().nan_to_num(0.0, 0.0, 0.0).max()
        decision["single"] = bool((gaps > JUMP * largest).any())

    def flip_of_any(self, value):
        """Whether an argument is a mask that float64 has otherwise."""
        return isinstance(value, torch.Tensor) and self.flip_of(value) is not None
