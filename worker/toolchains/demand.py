"""Builds a toolchain when an attempt asks for it: one that is locked, or one that is there with more packages."""

from __future__ import annotations

import os
import threading
import time

from worker.contract.names import split_layers
from worker.machine import allowed_packages
from worker.machine.settings import NodeSettings
from worker.toolchains.build import add_layer, rebuild
from worker.toolchains.errors import ToolchainError
from worker.toolchains.limits import Budget, BuildLimits
from worker.toolchains.store import RETRY_SECONDS, ToolchainStore


class MissingPackageError(ToolchainError):
    """Packages that could be added, and can't be had."""


class OnDemand:
    """One per node process; several may share a store."""

    def __init__(self, store: ToolchainStore, *, allowed: frozenset[str], limits: BuildLimits) -> None:
        self._store = store
        self._limits = limits
        self.allowed = allowed

    def provide(self, name: str, *, cancelled: threading.Event) -> None:
        """Return when it is there, or nothing is known of it. Raise ToolchainError in words of ours: the resolver's are the operator's."""
        if self._store.find(name) is not None:
            return
        recipe = self._store.read_recipe(name)
        layers = None if recipe is not None else split_layers(name, self._store.names())
        if recipe is None and (layers is None or not self.allowed.issuperset(layers[1])):
            return
        kind = (
            MissingPackageError
            if layers is not None or (recipe is not None and recipe.base)
            else ToolchainError
        )
        what = (
            "The packages that the script needs could not be added"
            if kind is MissingPackageError
            else "The toolchain could not be built"
        )
        failed_at = self._store.failed_at(name)
        if failed_at is not None and time.time() - failed_at < RETRY_SECONDS:
            raise kind(f"{what}; the node's list of toolchains says why.")
        budget = Budget(self._limits, cancelled=cancelled)
        try:
            if layers is None:
                rebuild(self._store, name, budget=budget)
            else:
                add_layer(self._store, name, base=layers[0], packages=layers[1], budget=budget)
        except (ToolchainError, OSError) as error:
            raise kind(f"{what}; the node's list of toolchains says why.") from error


def make_on_demand(store: ToolchainStore, settings: NodeSettings) -> OnDemand | None:
    """As the node's settings say; None where attempts never wait for a build, or the store is another user's."""
    if not settings.toolchain_wait_seconds or (store.root.exists() and not os.access(store.root, os.W_OK)):
        return None
    limits = BuildLimits(seconds=settings.toolchain_wait_seconds, bytes=settings.toolchain_bytes)
    return OnDemand(store, allowed=allowed_packages.read(settings.packages_allowed), limits=limits)
