"""Builds toolchains from wheels, which are chosen once and then taken from the lock.

Runs no code of a package.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from worker.harness import hook_source
from worker.machine.locks import HostLock, SharedLock
from worker.toolchains import inspect
from worker.toolchains.adopt import ADOPTED_PTH, adopted_paths
from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import Budget, BuildLimits
from worker.toolchains.locking.lock import Lock
from worker.toolchains.locking.resolve import check_requirements, resolve
from worker.toolchains.packages import (
    PackageStore,
    StoredPackage,
    compile_modules,
    freeze,
    hold_lock,
    link_tree,
    remove_tree,
)
from worker.toolchains.records import MANIFEST_NAME, NAME_OF_BUILDS, Manifest, Recipe, write_manifest
from worker.toolchains.store import ToolchainStore
from worker.toolchains.venv import (
    HOOK_PTH,
    Interpreter,
    add_hook,
    ask_interpreter,
    find_interpreter,
    make_venv,
)

# Increase it when a change of this code gives another result for the same lock.
_LAYOUT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """The start of a build: an interpreter, and the folders of a base toolchain without a lock.

    `paths`: folders to add to the path. `needs`: folders that must be shown as well. `stamp`: changes with
    the base. `fact_folders`: folders with packages that belong to the facts.
    """

    base: Interpreter
    system_packages: bool = False
    paths: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stamp: str = ""
    fact_folders: tuple[str, ...] = ()


def add(
    store: ToolchainStore,
    name: str,
    *,
    requirements: Sequence[str] = (),
    python: str | Path | None = None,
    lock: Lock | None = None,
    build: bool = True,
    budget: Budget | None = None,
) -> None:
    """Lock a toolchain and, with `build`, build it, unless that is done.

    Raises ToolchainError with the resolver's message.

    The requirements are resolved only once: the name keeps its lock until it is removed.
    """
    store.folder(name)
    required = check_requirements(requirements) if lock is None else lock.requirements
    budget = budget or Budget(BuildLimits())
    with hold_lock(store.lock(name), budget):
        recipe, manifest = store.read_recipe(name), store.read_manifest(name)
        if (recipe or manifest) and not _is_same(recipe, manifest, required, lock):
            raise ToolchainError(
                f"A toolchain {name} with other requirements exists. Remove it first or choose another name."
            )
        if manifest is not None or (recipe is not None and not build):
            return
        with store.tracking(name):
            recipe = recipe or _new_recipe(store, required, python, lock, budget)
            store.write_recipe(name, recipe)
            if build:
                _build(store, name, recipe, budget)


def rebuild(store: ToolchainStore, name: str, *, budget: Budget) -> None:
    """Build a toolchain from its lock, unless its build is up to date. Raises ToolchainError.

    A toolchain of an older version of samehere, which has no lock, gets one.
    """
    with hold_lock(store.lock(name), budget):
        recipe, manifest = store.read_recipe(name), store.read_manifest(name)
        if recipe is None and manifest is None:
            raise ToolchainError(
                f"There is no toolchain {name}; `samehere toolchain list` names those that there are."
            )
        if recipe is None and manifest is not None and manifest.kind == "adopted":
            raise ToolchainError(f"{name} is an adopted toolchain, which can't be built.")
        with store.tracking(name):
            if recipe is None and manifest is not None:
                recipe = _new_recipe(
                    store,
                    check_requirements(manifest.requirements),
                    store.folder(name) / "bin" / "python",
                    None,
                    budget,
                )
                store.write_recipe(name, recipe)
            if recipe is not None:
                _build(store, name, recipe, budget)


def add_layer(
    store: ToolchainStore, name: str, *, base: str, packages: Sequence[str], budget: Budget
) -> None:
    """Build a toolchain with more packages than its base. Raises ToolchainError.

    The base's packages keep their versions, and also their files if the base was built from a lock.
    """
    with hold_lock(store.lock(name), budget):
        if store.find(name) is not None:
            return
        with store.tracking(name):
            recipe = store.read_recipe(name) or _new_layer(store, base, check_requirements(packages), budget)
            store.write_recipe(name, recipe)
            _build(store, name, recipe, budget)


def _is_same(
    recipe: Recipe | None, manifest: Manifest | None, required: Sequence[str], lock: Lock | None
) -> bool:
    """Whether a name stands for this lock or these requirements.

    A toolchain of an older version of samehere has no lock; it counts by its requirements.
    """
    if recipe is not None:
        return not recipe.base and (
            recipe.lock.digest == lock.digest if lock is not None else recipe.requirements == list(required)
        )
    return (
        lock is None
        and manifest is not None
        and manifest.kind == "built"
        and manifest.requirements == list(required)
    )


def _new_recipe(
    store: ToolchainStore,
    required: Sequence[str],
    python: str | Path | None,
    lock: Lock | None,
    budget: Budget,
) -> Recipe:
    if lock is None:
        lock = resolve(required, find_interpreter(python), budget, root=store.root)
    else:
        lock.check_fits(find_interpreter(python or lock.minor))
    return Recipe(requirements=list(required), python=str(python or ""), lock=lock)


def _new_layer(store: ToolchainStore, base: str, packages: Sequence[str], budget: Budget) -> Recipe:
    below, manifest = store.read_recipe(base), store.read_manifest(base)
    if below is not None:
        pinned = below.lock.versions()
        lock = resolve(
            packages, _interpreter(below), budget, root=store.root, pinned=pinned, known=below.lock
        )
        chosen = {package.name: package for package in (*lock.packages, *below.lock.packages)}
        lock = lock.model_copy(update={"packages": tuple(chosen[name] for name in sorted(chosen))})
        return Recipe(requirements=list(packages), python=below.python, lock=lock, base=base)
    if manifest is None:
        raise ToolchainError(
            f"There is no toolchain {base}; `samehere toolchain list` names those that there are."
        )
    python = store.folder(base) / "bin" / "python"
    base_python = ask_interpreter(python)
    lock = resolve(packages, base_python, budget, root=store.root, pinned=manifest.facts.packages)
    beyond = tuple(package for package in lock.packages if package.name not in manifest.facts.packages)
    return Recipe(
        requirements=list(packages),
        python=str(python),
        lock=lock.model_copy(update={"packages": beyond}),
        base=base,
    )


def _interpreter(recipe: Recipe) -> Interpreter:
    return find_interpreter(recipe.python or recipe.lock.minor)


def _foundation(store: ToolchainStore, recipe: Recipe) -> Foundation:
    base = _interpreter(recipe)
    recipe.lock.check_fits(base)
    below = (
        store.read_manifest(recipe.base) if recipe.base and store.read_recipe(recipe.base) is None else None
    )
    if below is None:
        return Foundation(base=base, needs=(str(base.prefix),))
    folder = store.folder(recipe.base)
    own = folder / base.library / "site-packages"
    paths, system_packages = adopted_paths(folder, own)
    fact_folders = below.site_packages
    if below.kind == "built":
        paths = fact_folders = [str(own)]
    return Foundation(
        base=base,
        system_packages=system_packages,
        paths=tuple(paths),
        needs=(*below.needs, str(folder)),
        stamp=below.build_id,
        fact_folders=tuple(fact_folders),
    )


def _build(store: ToolchainStore, name: str, recipe: Recipe, budget: Budget) -> None:
    """Build a recipe, or use a build of the same content, and make the name lead to it.

    Waits for a concurrent build.
    """
    foundation = _foundation(store, recipe)
    parts = [
        _LAYOUT,
        recipe.lock.digest,
        foundation.base.release,
        str(foundation.base.executable),
        str(foundation.base.prefix),
    ]
    parts += [
        hook_source(),
        HOOK_PTH,
        list(foundation.paths),
        list(foundation.needs),
        foundation.stamp,
        foundation.system_packages,
    ]
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
    # `prune` must not remove packages while a build uses them.
    with (
        SharedLock(store.collecting_path),
        hold_lock(HostLock(store.root / ".locks" / f"build-{digest}.lock"), budget),
    ):
        folder = store.find_build(digest)
        if folder is None:
            packages = PackageStore(store.root)
            stored = packages.install(recipe.lock.packages, foundation.base, budget)
            folder = _assemble(store, recipe, foundation, stored, digest=digest, budget=budget)
        manifest = Manifest.model_validate_json((folder / MANIFEST_NAME).read_bytes())
        store.write_recipe(name, recipe.model_copy(update={"facts": manifest.facts}))
        store.point(name, folder)


def _assemble(
    store: ToolchainStore,
    recipe: Recipe,
    foundation: Foundation,
    stored: Sequence[StoredPackage],
    *,
    digest: str,
    budget: Budget,
) -> Path:
    work = store.root / ".building" / f"env-{digest}"
    remove_tree(work)
    try:
        site_packages = make_venv(work, foundation.base, system_packages=foundation.system_packages)
        add_hook(site_packages)
        if foundation.paths:
            # Only the paths: the code in the environment's own .pth files does not run.
            (site_packages / ADOPTED_PTH).write_text(
                "".join(f"{path}\n" for path in foundation.paths), encoding="utf-8"
            )
        compile_modules(work, foundation.base, budget)
        packages = PackageStore(store.root)
        for package in stored:
            budget.check_time()
            link_tree(packages.tree(package.key), work)
        freeze(work)
        final = store.root / ".built" / digest / secrets.token_hex(4)
        own = site_packages.relative_to(work)
        fact_folders = [site_packages, *map(Path, foundation.fact_folders)]
        manifest = Manifest(
            kind="built",
            build_id=digest,
            requirements=recipe.requirements,
            needs=list(foundation.needs),
            site_packages=[str(final / own), *foundation.fact_folders],
            packages=[package.key for package in stored],
            lock_digest=recipe.lock.digest,
            files_digest=hashlib.sha256(
                "".join(sorted(package.files_digest for package in stored)).encode()
            ).hexdigest(),
            facts=inspect.read_facts(
                NAME_OF_BUILDS, fact_folders, detail=f"Python {foundation.base.release}"
            ),
        )
        write_manifest(work, manifest)
        final.parent.mkdir(parents=True, exist_ok=True)
        work.rename(final)
    finally:
        remove_tree(work)
    return final
