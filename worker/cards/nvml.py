"""What the driver tells of the cards, by NVML: which there are, their state, and whose processes are on them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from worker.contract import CardReading, Gpu

_WAIT_MS = 1000
# Bits of nvmlDeviceGetCurrentClocksEventReasons that slow a card down because of its state, not of its load.
_THROTTLED = {
    0x8: "hardware slowdown",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "hardware power brake",
}


@contextmanager
def opened() -> Iterator[Any]:
    """The library, or None without driver or binding."""
    try:
        import pynvml
    except ImportError:
        yield None
        return
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def find_gpus() -> list[Gpu]:
    """The cards whose device node is here; no serial number, no UUID."""
    with opened() as nvml:
        if nvml is None:
            return []
        driver = str(nvml.nvmlSystemGetDriverVersion())
        found = []
        for minor, handle in _handles(nvml):
            with suppress(nvml.NVMLError):
                # A card that fell off the bus is not offered.
                major_capability, minor_capability = nvml.nvmlDeviceGetCudaComputeCapability(handle)
                gpu = Gpu(
                    index=minor,
                    model=str(nvml.nvmlDeviceGetName(handle)),
                    memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                    capability=f"{major_capability}.{minor_capability}",
                    driver=driver,
                )
                if Path(f"/dev/nvidia{gpu.index}").exists():
                    found.append(gpu)
        return found


def device_nodes(granted: list[Gpu]) -> tuple[str, ...]:
    """Exactly the nodes of the granted cards, and the two that every CUDA process needs."""
    if not granted:
        return ()
    return (*(f"/dev/nvidia{gpu.index}" for gpu in granted), "/dev/nvidiactl", "/dev/nvidia-uvm")


def read_card(index: int, *, xids: list[int]) -> CardReading | None:
    """None when the driver does not know the card any more. What a card does not count is zero."""
    with opened() as nvml:
        handle = None if nvml is None else dict(_handles(nvml)).get(index)
        if nvml is None or handle is None:
            return None
        reading: dict[str, Any] = {"index": index, "xids": xids}
        with suppress(nvml.NVMLError):
            reading["temperature"] = int(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
        for name, kind in (
            ("ecc_corrected", nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
            ("ecc_uncorrected", nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        ):
            with suppress(nvml.NVMLError):
                reading[name] = int(nvml.nvmlDeviceGetTotalEccErrors(handle, kind, nvml.NVML_VOLATILE_ECC))
        with suppress(nvml.NVMLError, AttributeError):
            reading["remapping_failed"] = bool(nvml.nvmlDeviceGetRemappedRows(handle)[3])
        with suppress(nvml.NVMLError, AttributeError):
            bits = int(nvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
            reading["throttled"] = [name for bit, name in _THROTTLED.items() if bits & bit]
        return CardReading(**reading)


Looker = AbstractContextManager[Callable[[int], list[int] | None]]


@contextmanager
def looker() -> Iterator[Callable[[int], list[int] | None]]:
    """What tells, again and again, the ids of the processes that compute on a card, as the driver sees them; None when it can't be told.

    A desktop that is drawn by it does not compute. In a container they may be those of other namespaces, or hidden.
    """
    with opened() as nvml:
        handles = {} if nvml is None else dict(_handles(nvml))

        def users_of(index: int) -> list[int] | None:
            if index not in handles:
                return None
            try:
                return sorted(
                    {int(user.pid) for user in nvml.nvmlDeviceGetComputeRunningProcesses(handles[index])}
                )
            except nvml.NVMLError:
                return None

        yield users_of


def processes_on(index: int) -> list[int] | None:
    """Ids of the processes that compute on the card right now; None when it can't be told."""
    with looker() as users_of:
        return users_of(index)


def _handles(nvml: Any) -> Iterator[tuple[int, Any]]:
    """By minor number: that of the device node."""
    for index in range(nvml.nvmlDeviceGetCount()):
        with suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            yield int(nvml.nvmlDeviceGetMinorNumber(handle)), handle


class FaultWatch:
    """Listens for the driver's faults (Xid) in a thread of its own; they are kept by card, oldest first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._xids: dict[int, list[int]] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="card-faults", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ending.set()
        self._thread.join(2 * _WAIT_MS / 1000)

    def xids(self, index: int) -> list[int]:
        with self._lock:
            return list(self._xids.get(index, ()))

    def _listen(self) -> None:
        with opened() as nvml:
            if nvml is None:
                return
            events = nvml.nvmlEventSetCreate()
            minors = {}
            for minor, handle in _handles(nvml):
                with suppress(nvml.NVMLError):
                    nvml.nvmlDeviceRegisterEvents(handle, nvml.nvmlEventTypeXidCriticalError, events)
                    minors[nvml.nvmlDeviceGetUUID(handle)] = minor
            while minors and not self._ending.is_set():
                try:
                    event = nvml.nvmlEventSetWait_v2(events, _WAIT_MS)
                except nvml.NVMLError_Timeout:
                    continue
                except nvml.NVMLError:
                    return
                with suppress(nvml.NVMLError, KeyError), self._lock:
                    self._xids.setdefault(minors[nvml.nvmlDeviceGetUUID(event.device)], []).append(
                        int(event.eventData)
                    )
            nvml.nvmlEventSetFree(events)
