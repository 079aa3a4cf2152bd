"""Moves the values of shadows by units and by roundings. `trace.py` loads it for `shadow.py`."""

import torch

REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
EPSILON = {dtype: torch.finfo(dtype).eps for dtype in FLOATS}
# So far from the ends of a range nothing comes near them.
FAR = 1024.0
# Random numbers that serve many times, each time from another place on.
NUMBERS = 1 << 16
# The bits of a float64 that hold its exponent.
EXPONENT = 0x7FF0000000000000


def unit_of(values, dtype):
    """The distance to the next number of a dtype, for float64 values; NaN where a value is not finite."""
    limits = torch.finfo(REAL.get(dtype, dtype))
    exponents = torch.frexp(values)[1]
    units = torch.ldexp(torch.full_like(values, limits.eps / 2), exponents.to(values.dtype))
    return torch.where(torch.isfinite(values), units.clamp(min=limits.tiny * limits.eps), values * 0)


def next_number(number):
    """The next one of a series of random whole numbers below 2 ** 31."""
    return (number * 1103515245 + 12345) % (1 << 31)


def is_far_inside(plain, limits):
    """Whether numbers are far from both ends of their type's range. Then those beside them are inside."""
    if plain.is_complex() or not plain.numel():
        return False
    least, most = map(float, torch.aminmax(plain.abs()))
    return limits.tiny * FAR < least and most * FAR < limits.max


class Noise:
    """Our own random numbers on each device: the script's draws stay as they are."""

    def __init__(self):
        self.pools = {}
        self.at = 0

    def move(self, values, dtype):
        """Float64 values moved by one unit of the dtype, up or down; zeros and what is not finite stay."""
        limits = torch.finfo(REAL.get(dtype, dtype))
        # The bits of the exponent alone are the power of two below; `unit_of` takes several times as long.
        unit = (values.view(torch.int64) & EXPONENT).view(torch.float64)
        unit = unit.mul_(limits.eps).clamp_(min=limits.tiny * limits.eps)
        moved = torch.copysign(unit, self.numbers(values.shape, values.device)).add_(values)
        return torch.where(torch.isfinite(values) & (values != 0), moved, values)

    def add_rounding(self, values, sizes, dtype):
        """The values, each moved at random by up to one rounding of a number of this size in the dtype."""
        unit = torch.finfo(REAL.get(dtype, dtype)).eps
        # An infinity, as in a mask, is not rounded: infinity less infinity is no number.
        sizes = sizes.nan_to_num(0.0, 0.0, 0.0)
        return values + sizes * unit * self.numbers(values.shape, values.device)

    def round_in_place(self, values, sizes, dtype, share, *, finite):
        """As `add_rounding`, into `values` themselves, which are real. `sizes` None: by their own sizes.

        `share`: 1 where the step has rounded, 0 where it has not; None: it has everywhere. `finite`: whether
        all of the values are.
        """
        noise = self.numbers(values.shape, values.device)
        if share is not None:
            noise = noise * share
        sizes = values if sizes is None else sizes
        if not finite or dtype is torch.float64:
            sizes = sizes.nan_to_num(0.0, 0.0, 0.0)
        values.addcmul_(sizes, noise, value=EPSILON[dtype])

    def keep_range(self, values, dtype, plain=None):
        """The rounded values, changed in place, as far as a dtype holds them. `plain`: those of the script.

        Beyond its largest number there is only infinity; below its least normal one lie only multiples of its
        least number, and zero.
        """
        limits = torch.finfo(REAL.get(dtype, dtype))
        if limits.bits == 64 or not values.numel() or (plain is not None and is_far_inside(plain, limits)):
            return values
        parts = torch.view_as_real(values) if values.is_complex() else values
        sizes = parts.abs()
        least, most = map(float, torch.aminmax(sizes))
        if most > limits.max * (1 + 2 * limits.eps):
            beyond = sizes > limits.max * (1 + 2 * limits.eps)
            parts.copy_(torch.where(beyond, torch.copysign(sizes.new_tensor(float("inf")), parts), parts))
        if least < limits.tiny:
            below = (sizes < limits.tiny) & (sizes > 0)
            least_number = limits.tiny * limits.eps
            parts.add_(below * self.numbers(parts.shape, parts.device), alpha=least_number)
        return values

    def numbers(self, shape, device):
        """Random numbers from -1 to 1. A long tensor gets the same ones in several places."""
        pool = self.pools.get(device)
        if pool is None:
            own = torch.Generator(device).manual_seed(0)
            pool = torch.rand(NUMBERS, generator=own, device=device, dtype=torch.float64)
            pool = self.pools[device] = pool.mul_(2).sub_(1)
        length = shape.numel()
        if 2 * length <= NUMBERS:
            return self.part(pool, length, shape)
        # Random lengths let no two rows of a matrix have the same numbers.
        parts = []
        while length:
            self.at = next_number(self.at)
            size = min(length, NUMBERS // 4 + (self.at >> 8) % (NUMBERS // 4))
            parts.append(self.part(pool, size))
            length -= size
        return torch.cat(parts).view(shape)

    def part(self, pool, length, shape=None):
        """So many random numbers of the pool, from a random place on."""
        self.at = next_number(self.at)
        start = (self.at >> 8) % (NUMBERS - length)
        part = pool.narrow(0, start, length)
        return part if shape is None else part.view(shape)
