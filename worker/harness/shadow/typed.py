"""Knows the numbers in a script's text that a floating-point type does not hold, such as 0.9.

A tensor that begins with one of them has its first rounding behind it. `trace.py` loads it.
"""

import ast
import sys

import torch

MOST_ELEMENTS, MOST_FRAMES = 4096, 40
TYPES = (torch.float32, torch.float16, torch.bfloat16)


class TypedNumbers:
    """The numbers of the script's text, by type: as the type has them, and as they stand there."""

    def __init__(self):
        self.numbers, self.by_type = None, {}

    def round(self, rows, dtype):
        """Move two rows of what the script begins with to its typed numbers, and as far to the other side."""
        if dtype not in TYPES or rows[0].numel() > MOST_ELEMENTS:
            return
        held, typed = self.of_type(dtype)
        if not len(held):
            return
        held, typed = held.to(rows.device), typed.to(rows.device)
        sizes = rows[0].abs()
        at = torch.searchsorted(held, sizes).clamp_(max=len(held) - 1)
        moves = torch.where(held[at] == sizes, typed[at] - held[at], torch.zeros_like(sizes))
        moves = torch.copysign(torch.ones_like(moves), rows[0]) * moves
        rows[0] += moves
        rows[1] -= moves

    def of_type(self, dtype):
        """The numbers that a type does not hold: as it has them, in order, and as they are typed."""
        if dtype not in self.by_type:
            self.numbers = numbers_of_the_script() if self.numbers is None else self.numbers
            typed = torch.tensor(self.numbers, dtype=torch.float64)
            held = typed.to(dtype).double()
            differ = (held != typed) & torch.isfinite(held)
            held, order = held[differ].sort()
            self.by_type[dtype] = held, typed[differ][order]
        return self.by_type[dtype]


def numbers_of_the_script():
    """The numbers with a fraction in the text of the script that runs now."""
    frame = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        if frame is None or frame.f_globals.get("__name__") == "__main__":
            break
        frame = frame.f_back
    try:
        with open(frame.f_code.co_filename, "rb") as file:
            nodes = ast.walk(ast.parse(file.read()))
    except (AttributeError, OSError, SyntaxError, ValueError, RecursionError):
        return []
    values = (each.value for each in nodes if isinstance(each, ast.Constant))
    return sorted({abs(each) for each in values if isinstance(each, float)})
