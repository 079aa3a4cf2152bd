"""Overwrites the free memory of the cards that it sees with zeros, through the driver's own library.

Prints the number of bytes of each card, as a JSON list. An error of the driver ends it with exit status 1.

Standard library only, Python 3.8 syntax.
"""

import ctypes
import json

# It asks for blocks of the first size, and for smaller ones when these do not fit any more.
LARGEST, SMALLEST = 1 << 30, 2 << 20
NO_MEMORY = 2


class DriverError(Exception):
    """An answer of the driver other than "done"."""


def call(driver, name, *arguments):
    """Call a function of the driver. Raises DriverError."""
    code = getattr(driver, name)(*arguments)
    if code != 0:
        raise DriverError("%s: %d" % (name, code))


def overwrite(driver, number):
    """Overwrite the free memory of a card; its bytes. The end of the process gives the blocks back."""
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call(driver, "cuDeviceGet", ctypes.byref(device), number)
    call(driver, "cuCtxCreate_v2", ctypes.byref(context), 0, device)
    total, size = 0, LARGEST
    while size >= SMALLEST:
        block = ctypes.c_uint64()
        code = driver.cuMemAlloc_v2(ctypes.byref(block), ctypes.c_size_t(size))
        if code == NO_MEMORY:
            size //= 2
            continue
        if code != 0:
            raise DriverError("cuMemAlloc: %d" % code)
        call(driver, "cuMemsetD8_v2", block, ctypes.c_ubyte(0), ctypes.c_size_t(size))
        total += size
    call(driver, "cuCtxSynchronize")
    return total


def overwrite_all(driver):
    """Overwrite the free memory of all cards; the bytes of each."""
    count = ctypes.c_int()
    call(driver, "cuInit", 0)
    call(driver, "cuDeviceGetCount", ctypes.byref(count))
    return [overwrite(driver, number) for number in range(count.value)]


if __name__ == "__main__":
    print(json.dumps(overwrite_all(ctypes.CDLL("libcuda.so.1"))))
