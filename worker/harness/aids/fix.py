"""Fixes a source of variation in the script's process, for a cell that tests what makes repeats differ.

`watch.py` loads it for the settings `fix` and `seed`. `fix` names one source, and every other source stays as
it is; `seed` is the seed of all random number generators. A program that repeats such a cell elsewhere loads
it too, so it needs only the standard library.
"""

import sys

GENERATORS = ("python", "numpy-legacy", "numpy-generator", "torch")
# The clock of `fix=clock` starts here and moves on by a millisecond each time that it is read.
FIRST_SECOND = 1_700_000_000
TICK_NS = 1_000_000
NS = 1_000_000_000


class Fix:
    """The fixed sources, with the seed for those that are generators."""

    def __init__(self, settings):
        self.seed = int(settings.get("seed", "0"))
        fixed = settings.get("fix", "")
        self.sources = set(GENERATORS) if "seed" in settings or fixed == "generators" else set()
        self.sources.add(fixed)

    def has(self, source):
        """Whether the source is to be fixed."""
        return source in self.sources


def start(settings, call_after_import):
    """Fix what can be fixed before the script starts, and the rest as soon as it is imported."""
    fix = Fix(settings)
    if fix.has("python"):
        seed_python(fix.seed)
    if fix.has("clock"):
        fix_clock()
    if fix.has("files"):
        fix_files()
    if fix.has("numpy-legacy") or fix.has("numpy-generator"):
        if "numpy.random" in sys.modules:
            seed_numpy(fix)
        else:
            call_after_import("numpy.random", lambda: seed_numpy(fix))
    return fix


def after_torch(fix, torch):
    """Seed torch, right after its import, and the generators that it may have drawn from."""
    if fix.has("torch"):
        torch.manual_seed(fix.seed)
    if fix.sources >= set(GENERATORS):
        seed_python(fix.seed)
        if "numpy.random" in sys.modules:
            seed_numpy(fix)


def seed_python(seed):
    """Seed the module `random`, and every `random.Random` that the script makes without a seed."""
    import random

    plain = random.Random.seed
    if getattr(plain, "__module__", None) != __name__:

        def seed_or_default(self, a=None, version=2):
            plain(self, seed if a is None else a, version)

        random.Random.seed = seed_or_default
        random.seed = random._inst.seed
    random.seed(seed)


def seed_numpy(fix):
    """Seed numpy's global generator, its generators that are made without a seed, or both."""
    import random

    if fix.has("numpy-legacy"):
        sys.modules["numpy.random"].seed(fix.seed % 2**32)
    if fix.has("numpy-generator"):
        # numpy asks this function for the entropy of a generator without a seed.
        sys.modules["numpy.random.bit_generator"].randbits = random.Random(fix.seed).getrandbits  # noqa: S311


def fix_clock():
    """Have every clock begin at the same time and move on by one tick a reading."""
    import datetime as dates  # noqa: ICN001
    import time

    readings = iter(range(TICK_NS, sys.maxsize, TICK_NS))

    def now_ns():
        return FIRST_SECOND * NS + next(readings)

    for name in ("time", "perf_counter", "monotonic", "process_time", "thread_time"):
        setattr(time, name, lambda: now_ns() / NS)
        setattr(time, name + "_ns", now_ns)
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, at_fixed_time(getattr(time, name), now_ns))
    format_time = time.strftime
    time.strftime = lambda form, at=None: format_time(form, time.localtime() if at is None else at)

    class FixedDatetime(dates.datetime):
        @classmethod
        def now(cls, tz=None):
            return cls.fromtimestamp(now_ns() / NS, tz)

        @classmethod
        def utcnow(cls):
            return cls.fromtimestamp(now_ns() / NS, dates.timezone.utc).replace(tzinfo=None)

        @classmethod
        def today(cls):
            return cls.fromtimestamp(now_ns() / NS)

    FixedDatetime.__name__ = FixedDatetime.__qualname__ = "datetime"
    FixedDatetime.__module__ = "datetime"
    dates.datetime = FixedDatetime


def at_fixed_time(plain, now_ns):
    """A function of `time` that reads our clock if it gets no time."""

    def at(seconds=None):
        return plain(now_ns() / NS if seconds is None else seconds)

    return at


def fix_files():
    """Have folders listed in the order of their names."""
    import os

    list_folder, scan_folder = os.listdir, os.scandir

    class Entries:
        """The entries of a folder, as `os.scandir` gives them."""

        def __init__(self, path):
            with scan_folder(path) as entries:
                self.entries = iter(sorted(entries, key=lambda entry: entry.name))

        def __iter__(self):
            return self

        def __next__(self):
            return next(self.entries)

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            self.close()

        def close(self):
            self.entries = iter(())

    os.listdir = lambda path=".": sorted(list_folder(path))
    os.scandir = lambda path=".": Entries(path)
