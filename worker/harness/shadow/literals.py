"""Knows the numbers in a script's text that a floating-point type does not hold, such as 0.9.

A tensor that begins with one of them has its first rounding behind it. `trace.py` loads it.
"""

import ast
import sys

import torch

MOST_ELEMENTS, MOST_FRAMES = 4096, 40
TYPES = (torch.float32, torch.float16, torch.bfloat16)


class Literals:
    """The numbers of the script's text, by type: as the type has them, and as they stand there."""

    def __init__(self):
        self.literals, self.by_type = None, {}

    def round(self, rows, dtype):
        """Move two rows of what the script begins with to its typed numbers, and as far to the other side."""
        if dtype not in TYPES or rows[0].numel() > MOST_ELEMENTS:
            return
        nearest, numbers = self.of_type(dtype)
        if not len(nearest):
            return
        nearest, numbers = nearest.to(rows.device), numbers.to(rows.device)
        sizes = rows[0].abs()
        at = torch.searchsorted(nearest, sizes).clamp_(max=len(nearest) - 1)
        moves = torch.where(nearest[at] == sizes, numbers[at] - nearest[at], torch.zeros_like(sizes))
        moves = torch.copysign(torch.ones_like(moves), rows[0]) * moves
        rows[0] += moves
        rows[1] -= moves

    def of_type(self, dtype):
        """The numbers that a type does not hold: as it has them, in order, and as they are typed."""
        if dtype not in self.by_type:
            self.literals = literals_of_the_script() if self.literals is None else self.literals
            numbers = torch.tensor(self.literals, dtype=torch.float64)
            nearest = numbers.to(dtype).double()
            differ = (nearest != numbers) & torch.isfinite(nearest)
            nearest, order = nearest[differ].sort()
            self.by_type[dtype] = nearest, numbers[differ][order]
        return self.by_type[dtype]


def literals_of_the_script():
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
