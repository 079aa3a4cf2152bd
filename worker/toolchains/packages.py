"""The store of unpacked wheels: byte-compiled, read-only, and hard-linked into toolchains."""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from pydantic import BaseModel, ConfigDict, ValidationError

from worker.machine.locks import HostLock
from worker.toolchains import compiler
from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import Budget
from worker.toolchains.locking.lock import LockedPackage
from worker.toolchains.locking.pip_command import ONLY_WHEELS, pip_for
from worker.toolchains.store import INSIDE
from worker.toolchains.venv import Interpreter, make_venv

_FACTS = "package.json"
_TREE = "tree"
# Files in which an installer records itself and the source of the wheel: they differ between machines.
_NOTES = frozenset({"direct_url.json", "uv_cache.json", "uv_build.json", "REQUESTED"})
_LOCK_PAUSE_SECONDS = 0.1


class StoredPackage(BaseModel):
    """Describes an unpacked wheel, in a file beside it. A folder without one is no package.

    `files_digest`: of all names and contents (SHA-256, hex). `bytes`: size of all files.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    name: str
    version: str
    files_digest: str
    bytes: int


class PackageStore:
    """The packages below the folder of toolchains. Several processes may use it at the same time."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def folder(self) -> Path:
        """The folder with one subfolder for each package."""
        return self._root / ".packages"

    def tree(self, key: str) -> Path:
        """The folder with a package's files, in the layout of a toolchain's folder."""
        return self.folder / key / _TREE

    def find(self, key: str) -> StoredPackage | None:
        """The package with this key, or None."""
        try:
            return StoredPackage.model_validate_json((self.folder / key / _FACTS).read_bytes())
        except (OSError, ValidationError):
            return None

    def install(
        self, packages: tuple[LockedPackage, ...], base: Interpreter, budget: Budget
    ) -> list[StoredPackage]:
        """Fetch, check, unpack and compile the packages that are not stored yet, several at a time.

        Raises ToolchainError.
        """
        with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
            stored = list(pool.map(lambda package: self._find_or_install(package, base, budget), packages))
        budget.check_size(sum(package.bytes for package in stored))
        return stored

    def _find_or_install(self, package: LockedPackage, base: Interpreter, budget: Budget) -> StoredPackage:
        key = f"{package.name}-{package.sha256[:32]}-{base.implementation}{base.release}"
        stored = self.find(key)
        if stored is not None:
            return stored
        with hold_lock(HostLock(self._root / ".locks" / f"package-{key}.lock"), budget):
            stored = self.find(key)
            if stored is not None:
                return stored
            work = self._root / ".building" / f"package-{key}"
            remove_tree(work)
            try:
                return self._install(package, key, work, base, budget)
            finally:
                remove_tree(work)

    def _install(
        self, package: LockedPackage, key: str, work: Path, base: Interpreter, budget: Budget
    ) -> StoredPackage:
        work.mkdir(parents=True)
        tree = work / "package" / _TREE
        site_packages = make_venv(tree, base)
        _unpack(package, base, tree, work, budget, root=self._root)
        _remove_venv_files(tree)
        for folder in site_packages.glob("*.dist-info"):
            _remove_notes(folder)
        compile_modules(tree, base, budget)
        freeze(tree)
        facts = StoredPackage(
            key=key,
            name=package.name,
            version=package.version,
            files_digest=tree_digest(tree),
            bytes=sum(_sizes(tree).values()),
        )
        (work / "package" / _FACTS).write_text(facts.model_dump_json(), encoding="utf-8")
        self.folder.mkdir(parents=True, exist_ok=True)
        (work / "package").rename(self.folder / key)
        return facts


def _unpack(
    package: LockedPackage, base: Interpreter, tree: Path, work: Path, budget: Budget, *, root: Path
) -> None:
    """Unpack a wheel with uv, from the address in the lock. Raises ToolchainError.

    If the address does not work, perhaps for want of credentials, pip fetches the wheel by its name.
    """
    url = package.url
    missing = urlsplit(url).scheme == "file" and not Path(url2pathname(urlsplit(url).path)).is_file()
    if not missing:
        try:
            _uv_install(package, url, tree, work, budget)
        except ToolchainError as error:
            if urlsplit(url).scheme == "file" or "hash" in str(error).lower():
                raise
        else:
            return
    wheel = _fetch(package, base, work, budget, root=root)
    _uv_install(package, wheel.as_uri(), tree, work, budget)


def _uv_install(package: LockedPackage, url: str, tree: Path, work: Path, budget: Budget) -> None:
    budget.run(
        [
            _uv(),
            "pip",
            "install",
            f"--python={tree / 'bin' / 'python'}",
            "--no-deps",
            "--no-build",
            "--require-hashes",
            "--no-progress",
            "--link-mode=hardlink",
            f"--cache-dir={work / 'cache'}",
            "--requirements=-",
        ],
        measured_folder=work,
        input_text=f"{package.name} @ {url} --hash=sha256:{package.sha256}\n",
    )


def _uv() -> str:
    try:
        from uv import find_uv_bin
    except ImportError as error:
        raise ToolchainError(
            "uv, which unpacks wheels, is not installed: run pip install 'samehere[node]'."
        ) from error
    return str(find_uv_bin())


def _fetch(package: LockedPackage, base: Interpreter, work: Path, budget: Budget, *, root: Path) -> Path:
    requirements = work / "requirements.txt"
    requirements.write_text(
        f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n", encoding="utf-8"
    )
    folder = work / "fetched"
    command = [*pip_for(base, root, budget), "download", "--quiet"]
    budget.run(
        [
            *command,
            *ONLY_WHEELS,
            "--no-deps",
            "--require-hashes",
            f"--dest={folder}",
            f"--requirement={requirements}",
        ],
        measured_folder=work,
    )
    wheel = next(iter(folder.glob("*.whl")), None)
    if wheel is None:
        raise ToolchainError(f"pip did not fetch a wheel of {package.name}.")
    return wheel


def _remove_venv_files(tree: Path) -> None:
    for name in ("python", "python3", *(path.name for path in (tree / "bin").glob("python3.*"))):
        path = tree / "bin" / name
        if path.is_symlink():
            path.unlink()
    for name in ("pyvenv.cfg", "lib64", ".lock"):
        (tree / name).unlink(missing_ok=True)
    for parent, _, _ in os.walk(tree, topdown=False):
        with contextlib.suppress(OSError):
            # This fails if the folder is not empty.
            Path(parent).rmdir()
    tree.mkdir(exist_ok=True)


def _remove_notes(dist_info: Path) -> None:
    for name in _NOTES:
        (dist_info / name).unlink(missing_ok=True)
    record = dist_info / "RECORD"
    try:
        with record.open(newline="", encoding="utf-8") as file:
            rows = [
                row
                for row in csv.reader(file)
                if row and row[0] not in {f"{dist_info.name}/{name}" for name in _NOTES}
            ]
    except (OSError, UnicodeDecodeError, csv.Error):
        return
    # It may be a hard link into uv's cache.
    record.unlink()
    with record.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(sorted(rows))


def compile_modules(tree: Path, base: Interpreter, budget: Budget) -> None:
    """Compile all modules of a folder that attempts see at INSIDE. Raises ToolchainError.

    The bytecode is the same on every machine with this release of Python.
    """
    names = sorted(
        str(path.relative_to(tree)) for path in (tree / base.library).rglob("*.py") if path.is_file()
    )
    if not names:
        return
    # Not by its path: our modules would come before Python's own. Not with -I: it would ignore the hash seed.
    source = Path(compiler.__file__).read_text(encoding="utf-8")
    program = f"import sys; sys.path[:] = [each for each in sys.path if each]\n{source}"
    command = [str(base.executable), "-S", "-B", "-c", program]
    request = {"folder": str(tree), "names": names, "inside": INSIDE}

    def run(part: int) -> None:
        budget.run(
            command, variables={"PYTHONHASHSEED": "0"}, input_text=json.dumps({**request, "part": part})
        )

    with ThreadPoolExecutor(max_workers=min(compiler.PARTS, os.cpu_count() or 1)) as pool:
        list(pool.map(run, range(min(compiler.PARTS, len(names)))))


def freeze(tree: Path) -> None:
    """Remove all rights to write files, and let everyone read them: attempts run as other users."""
    for parent, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(parent, name)  # noqa: PTH118  # thousands of files
            mode = os.lstat(path).st_mode
            if stat.S_ISREG(mode):
                os.chmod(path, 0o555 if mode & 0o100 else 0o444)  # noqa: PTH101
        os.chmod(parent, 0o755)  # noqa: PTH101, S103  # attempts run as other users


def tree_digest(tree: Path) -> str:
    """The SHA-256 (hex) of all names, contents and rights to execute; not of times and owners."""
    digest = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        name = str(path.relative_to(tree)).encode("utf-8", "surrogateescape")
        if path.is_symlink():
            digest.update(b"l %s\0%s\0" % (name, os.fsencode(path.readlink())))
        elif path.is_file():
            with path.open("rb") as file:
                content = hashlib.file_digest(file, "sha256").hexdigest().encode()
            digest.update(b"f %s\0%o %s\0" % (name, path.stat().st_mode & 0o111, content))
    return digest.hexdigest()


def link_tree(tree: Path, into: Path) -> None:
    """Hard-link every file into another folder. An existing file, of an earlier package, stays."""
    for parent, folders, names in os.walk(tree):
        target = os.path.join(into, os.path.relpath(parent, tree))  # noqa: PTH118  # thousands of files
        for name in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(os.path.join(target, name), 0o755)  # noqa: PTH102, PTH118
        for name in names:
            _link(os.path.join(parent, name), os.path.join(target, name))  # noqa: PTH118


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        return
    except OSError:
        # The file system has no hard links, or permits no more for this file.
        shutil.copy2(source, target, follow_symlinks=False)


def _sizes(tree: Path) -> dict[str, int]:
    return {
        str(path): path.lstat().st_size for path in tree.rglob("*") if not path.is_dir() or path.is_symlink()
    }


def remove_tree(folder: Path) -> None:
    """Remove a folder with all its content; does nothing if it does not exist."""
    if folder.is_dir() and not folder.is_symlink():
        shutil.rmtree(folder)


@contextlib.contextmanager
def hold_lock(lock: HostLock, budget: Budget) -> Iterator[None]:
    """Hold a lock, after waiting for its current holder.

    Raises ToolchainError if that takes longer than the budget.
    """
    while not lock.acquire():
        budget.check_time()
        time.sleep(_LOCK_PAUSE_SECONDS)
    try:
        yield
    finally:
        lock.release()
