"""Builds toolchains from wheels: chosen once, then always from the lock. No code of a package runs while it is built."""

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
    link_tree,
    remove_tree,
    waiting,
)
from worker.toolchains.store import Manifest, Recipe, ToolchainStore, write_manifest
from worker.toolchains.venv import (
    HOOK_PTH,
    Interpreter,
    add_hook,
    ask_interpreter,
    find_interpreter,
    make_venv,
)

# Goes up when the same lock would be laid out in another way.
_LAYOUT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Foundation:
    """What wheels are laid upon: an interpreter, and the folders of an environment without a lock."""

    base: Interpreter
    system_packages: bool = False
    paths: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    stamp: str = ""
    found_in: tuple[str, ...] = ()


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
    """Lock one, and build it, unless that is done; raise ToolchainError in the resolver's words.

    The requirements are resolved once: the name keeps its lock until it is removed.
    """
    store.folder(name)
    wanted = check_requirements(requirements) if lock is None else lock.requirements
    budget = budget or Budget(BuildLimits())
    with waiting(store.lock(name), budget):
        recipe, manifest = store.read_recipe(name), store.read_manifest(name)
        if (recipe or manifest) and not _is_same(recipe, manifest, wanted, lock):
            raise ToolchainError(
                f"There is a toolchain {name} with other requirements; remove it first or choose another name."
            )
        if manifest is not None or (recipe is not None and not build):
            return
        with store.noting(name):
            recipe = recipe or _new_recipe(wanted, python, lock, budget)
            store.write_recipe(name, recipe)
            if build:
                _build(store, name, recipe, budget)


def rebuild(store: ToolchainStore, name: str, *, budget: Budget) -> None:
    """Build what is not built, or was by an older version, from its lock; one without a lock gets one. Raise ToolchainError."""
    with waiting(store.lock(name), budget):
        recipe, manifest = store.read_recipe(name), store.read_manifest(name)
        if recipe is None and manifest is None:
            raise ToolchainError(
                f"There is no toolchain {name}; `samehere toolchain list` names those that there are."
            )
        if recipe is None and manifest is not None and manifest.kind == "adopted":
            raise ToolchainError(f"{name} is adopted, not built.")
        with store.noting(name):
            if recipe is None and manifest is not None:
                recipe = _new_recipe(
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
    """A toolchain with more packages: what the base has keeps its versions, and its files where it was built from a lock."""
    with waiting(store.lock(name), budget):
        if store.find(name) is not None:
            return
        with store.noting(name):
            recipe = store.read_recipe(name) or _new_layer(store, base, check_requirements(packages), budget)
            store.write_recipe(name, recipe)
            _build(store, name, recipe, budget)


def _is_same(
    recipe: Recipe | None, manifest: Manifest | None, wanted: Sequence[str], lock: Lock | None
) -> bool:
    """Whether a name stands for what is asked for. One of an older version has no lock, and serves as it is."""
    if recipe is not None:
        return not recipe.base and (
            recipe.lock.digest == lock.digest if lock is not None else recipe.requirements == list(wanted)
        )
    return (
        lock is None
        and manifest is not None
        and manifest.kind == "built"
        and manifest.requirements == list(wanted)
    )


def _new_recipe(
    wanted: Sequence[str], python: str | Path | None, lock: Lock | None, budget: Budget
) -> Recipe:
    if lock is None:
        lock = resolve(wanted, find_interpreter(python), budget)
    else:
        lock.check_fits(find_interpreter(python or lock.minor))
    return Recipe(requirements=list(wanted), python=str(python or ""), lock=lock)


def _new_layer(store: ToolchainStore, base: str, packages: Sequence[str], budget: Budget) -> Recipe:
    below, manifest = store.read_recipe(base), store.read_manifest(base)
    if below is not None:
        lock = resolve(packages, _interpreter(below), budget, pinned=below.lock.versions(), known=below.lock)
        chosen = {package.name: package for package in (*lock.packages, *below.lock.packages)}
        lock = lock.model_copy(update={"packages": tuple(chosen[name] for name in sorted(chosen))})
        return Recipe(requirements=list(packages), python=below.python, lock=lock, base=base)
    if manifest is None:
        raise ToolchainError(
            f"There is no toolchain {base}; `samehere toolchain list` names those that there are."
        )
    python = store.folder(base) / "bin" / "python"
    lock = resolve(packages, ask_interpreter(python), budget, pinned=manifest.facts.packages)
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
    found_in = below.site_packages
    if below.kind == "built":
        paths = found_in = [str(own)]
    return Foundation(
        base=base,
        system_packages=system_packages,
        paths=tuple(paths),
        needs=(*below.needs, str(folder)),
        stamp=below.build_id,
        found_in=tuple(found_in),
    )


def _build(store: ToolchainStore, name: str, recipe: Recipe, budget: Budget) -> None:
    """Let the name lead to what is built of its lock; whoever builds the same at the same time is waited for."""
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
    # Whoever collects what is not used keeps out while something is built of it.
    with (
        SharedLock(store.collecting_path),
        waiting(HostLock(store.root / ".locks" / f"build-{digest}.lock"), budget),
    ):
        folder = store.built(digest)
        if folder is None:
            packages = PackageStore(store.root)
            stored = packages.install(recipe.lock.packages, foundation.base, budget)
            folder = _assemble(store, recipe, foundation, stored, digest=digest, budget=budget)
        manifest = Manifest.model_validate_json((folder / store.MANIFEST).read_bytes())
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
            # Paths only: the start-up code in the environment's own .pth files does not run.
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
        found_in = [site_packages, *map(Path, foundation.found_in)]
        manifest = Manifest(
            kind="built",
            build_id=digest,
            requirements=recipe.requirements,
            needs=list(foundation.needs),
            site_packages=[str(final / own), *foundation.found_in],
            packages=[package.key for package in stored],
            lock_digest=recipe.lock.digest,
            files_digest=hashlib.sha256(
                "".join(sorted(package.files_digest for package in stored)).encode()
            ).hexdigest(),
            facts=inspect.read_facts("", found_in, detail=f"Python {foundation.base.release}"),
        )
        write_manifest(work, manifest)
        final.parent.mkdir(parents=True, exist_ok=True)
        work.rename(final)
    finally:
        remove_tree(work)
    return final
