"""Builds a toolchain when an attempt needs it: one that is only locked, or one with more packages."""

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
    """Packages that the operator permits could not be added."""


class OnDemand:
    """Builds toolchains for one node process. Several processes may share a store.

    `allowed`: names of packages that it may add.
    """

    def __init__(self, store: ToolchainStore, *, allowed: frozenset[str], limits: BuildLimits) -> None:
        self._store = store
        self._limits = limits
        self.allowed = allowed

    def provide(self, name: str, *, cancelled: threading.Event) -> None:
        """Build the toolchain of this name, unless it is ready; does nothing if the name is unknown.

        Raises ToolchainError with a text of ours, since only the operator may see the resolver's message.
        """
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
        failure = (
            "The packages that the script needs could not be added"
            if kind is MissingPackageError
            else "The toolchain could not be built"
        )
        failed_at = self._store.failed_at(name)
        if failed_at is not None and time.time() - failed_at < RETRY_SECONDS:
            raise kind(f"{failure}; the node's list of toolchains says why.")
        budget = Budget(self._limits, cancelled=cancelled)
        try:
            if layers is None:
                rebuild(self._store, name, budget=budget)
            else:
                add_layer(self._store, name, base=layers[0], packages=layers[1], budget=budget)
        except (ToolchainError, OSError) as error:
            raise kind(f"{failure}; the node's list of toolchains says why.") from error


def make_on_demand(store: ToolchainStore, settings: NodeSettings) -> OnDemand | None:
    """An OnDemand by the node's settings; None if attempts never wait or the store is read-only."""
    if not settings.toolchain_wait_seconds or (store.root.exists() and not os.access(store.root, os.W_OK)):
        return None
    limits = BuildLimits(seconds=settings.toolchain_wait_seconds, bytes=settings.toolchain_bytes)
    return OnDemand(store, allowed=allowed_packages.read(settings.packages_allowed), limits=limits)
