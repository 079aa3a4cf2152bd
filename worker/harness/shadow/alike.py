"""Finds shown tensors that are nearly the same and were computed by different formulas.

If float64 tells them apart as well, nobody knows whether they are meant to be the same: an average with a
wrong divisor looks like that. `trace.py` loads it.
"""

import sys

import torch

shadow = globals()["shadow"]

# Larger tensors are not compared, and no more than so many shapes, formulas and pairs.
MOST_ELEMENTS, MOST_SHAPES, MOST_FORMULAS, MOST_PAIRS = 1 << 12, 64, 8, 5
# Nearly the same: this share of the largest element. Single numbers are often close by chance.
SHARE, SHARE_OF_ONE = 0.1, 0.015
# A multiple of what rounding moves the shadows by, and units in the last place.
SPREADS, UNITS = 8, 16
# So many frames above a printing there is a line of the script.
MOST_FRAMES = 24


class Alike:
    """`pairs` has the names of shown tensors that are nearly the same, and differ in float64, too."""

    def __init__(self, table):
        self.table = table
        self.pairs = []
        # The first one of each formula, by kind and shape: the place in the script and the number of the
        # operation before it, its name, storage, reference and bounds.
        self.first = {}

    def look(self, name, number, tensor, views):
        """Hold a shown tensor against those of the same shape that other formulas gave."""
        maker = self.table.maker_of(tensor)
        if not maker or tensor.is_complex() or tensor.numel() > MOST_ELEMENTS:
            return
        # A number that is read and one that is printed are close by chance, as those of a loop and its end.
        key = (name.partition("[")[0], *tensor.shape)
        makers = self.first.get(key)
        if makers is None and len(self.first) < MOST_SHAPES:
            makers = self.first[key] = {}
        if makers is None or maker in makers or len(makers) >= MOST_FORMULAS:
            return
        place = place_in_script()
        if any(there == place and at != number for (there, at), _ in makers.values()):
            # A loop shows the same number at another time.
            return
        storage = shadow.storage_of(tensor)._cdata
        mine = (name, storage, tensor.numel(), *bounds_of(tensor, views))
        for _, other in makers.values():
            if storage != other[1] and len(self.pairs) < MOST_PAIRS and is_alike(mine, other):
                self.pairs.append([other[0], name])
        makers[maker] = ((place, number), mine)


def place_in_script():
    """The place in the script that shows something now; None if it is not near."""
    frame = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        if frame is None:
            return None
        if frame.f_globals.get("__name__") == "__main__":
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None


def bounds_of(tensor, views):
    """The reference of a tensor, and what rounding allows for each element of it."""
    copies = [view.reshape(-1).cpu() for view in views]
    reference = copies[shadow.REFERENCE].clone()
    spreads = torch.stack([(copies[at] - reference).abs() for at in (*shadow.MOVED, *shadow.ROUNDED)]).max(0)[
        0
    ]
    return reference, UNITS * shadow.unit_of(reference, tensor.dtype) + SPREADS * spreads


def is_alike(one, other):
    """Whether two references are nearly the same, and further apart than rounding allows."""
    (*_, count, mine, allowed), (*_, theirs, allowed_there) = one, other
    gaps = (mine - theirs).abs()
    largest = torch.maximum(mine.abs().max(), theirs.abs().max())
    share = SHARE if count > 1 else SHARE_OF_ONE
    is_near = bool((gaps <= share * largest).all())
    return is_near and bool((gaps > allowed + allowed_there).any())
