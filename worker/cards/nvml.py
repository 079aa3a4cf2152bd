"""Reads from the driver, through NVML: the cards, their state, and the processes on them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from worker.contract import CardReading, Gpu
from worker.contract.names import card_name

_WAIT_MS = 1000
# Bits of nvmlDeviceGetCurrentClocksEventReasons that slow a card down because of its state, not of its load.
_THROTTLED = {
    0x8: "hardware slowdown",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "hardware power brake",
}


@contextmanager
def open_nvml() -> Iterator[Any]:
    """The initialized library. None if the driver or the Python binding is missing."""
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
    """The cards whose device node exists on this machine, without serial numbers and UUIDs."""
    with open_nvml() as nvml:
        if nvml is None:
            return []
        driver = str(nvml.nvmlSystemGetDriverVersion())
        gpus = []
        for minor, handle in _handles(nvml):
            with suppress(nvml.NVMLError):
                # A card that fell off the bus raises an error here, and is left out.
                major_capability, minor_capability = nvml.nvmlDeviceGetCudaComputeCapability(handle)
                gpu = Gpu(
                    index=minor,
                    model=card_name(str(nvml.nvmlDeviceGetName(handle))),
                    memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(handle).total),
                    capability=f"{major_capability}.{minor_capability}",
                    driver=driver,
                )
                if Path(f"/dev/nvidia{gpu.index}").exists():
                    gpus.append(gpu)
        return gpus


def device_nodes(granted: list[Gpu]) -> tuple[str, ...]:
    """The device nodes of the granted cards, and two for every CUDA process. Empty without cards."""
    if not granted:
        return ()
    return (*(f"/dev/nvidia{gpu.index}" for gpu in granted), "/dev/nvidiactl", "/dev/nvidia-uvm")


def read_card(index: int, *, xids: list[int]) -> CardReading | None:
    """The state of a card. None if the driver no longer knows the card.

    A counter that the card does not have keeps its default.
    """
    with open_nvml() as nvml:
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
    """A function that lists the ids of the processes that compute on a card. It can be called many times.

    It returns None if the driver does not answer. Processes that only draw on the card are not listed. In a
    container the ids may be those of another namespace, or the driver may hide the processes.
    """
    with open_nvml() as nvml:
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
    """The ids of the processes that compute on the card now. None if the driver does not answer."""
    with looker() as users_of:
        return users_of(index)


def _handles(nvml: Any) -> Iterator[tuple[int, Any]]:
    """The handle of each card, with the minor number of its device node."""
    for index in range(nvml.nvmlDeviceGetCount()):
        with suppress(nvml.NVMLError):
            handle = nvml.nvmlDeviceGetHandleByIndex(index)
            yield int(nvml.nvmlDeviceGetMinorNumber(handle)), handle


class FaultWatch:
    """Collects the faults (Xid) that the driver reports, by card, in a thread of its own."""

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
        """The faults of a card since `start`, the oldest first."""
        with self._lock:
            return list(self._xids.get(index, ()))

    def _listen(self) -> None:
        with open_nvml() as nvml:
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
