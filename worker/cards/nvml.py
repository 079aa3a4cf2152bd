"""Reads from the driver, through NVML: the cards, their state, and the processes on them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import structlog

from worker.contract import CardReading, Gpu
from worker.contract.names import card_name

_WAIT_MS = 1000
# The driver answers in milliseconds, and wakes a card within seconds. If it hangs, who asked goes on.
_ANSWER_SECONDS = 30.0
_FIND_SECONDS = 120.0
_log = structlog.get_logger(__name__)
# Bits of nvmlDeviceGetCurrentClocksEventReasons that slow a card down because of its state, not of its load.
_THROTTLED = {
    0x8: "hardware slowdown",
    0x20: "software thermal",
    0x40: "hardware thermal",
    0x80: "hardware power brake",
}


Found = TypeVar("Found")


class _CardLostError(Exception):
    """The card fell off the bus."""


class _Questions:
    """Asks the driver in threads. While one of them hangs in the driver, nobody else asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stuck: threading.Thread | None = None

    @property
    def is_silent(self) -> bool:
        """True while a question is not answered."""
        with self._lock:
            return self._stuck is not None and self._stuck.is_alive()

    def ask(self, question: Callable[[], Found], otherwise: Found, *, seconds: float) -> Found:
        """The answer, or `otherwise` if none came in time."""
        if self.is_silent:
            return otherwise
        answers: list[Found] = []

        def run() -> None:
            try:
                answers.append(question())
            except Exception:  # noqa: BLE001
                # The boundary of the thread, and of a driver that was unloaded or reset meanwhile.
                _log.exception("driver_failed")

        thread = threading.Thread(target=run, name="driver", daemon=True)
        thread.start()
        thread.join(seconds)
        if thread.is_alive():
            _log.error("driver_silent", seconds=seconds)
            with self._lock:
                self._stuck = thread
        return answers[0] if answers else otherwise


_questions = _Questions()


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
    """The cards whose device node exists on this machine, without serial numbers and UUIDs.

    Empty if the driver does not answer.
    """
    return _questions.ask(_find_gpus, [], seconds=_FIND_SECONDS)


def _find_gpus() -> list[Gpu]:
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
    """The state of a card. None if the driver no longer knows the card, or does not answer.

    A counter that the card does not have keeps its default.
    """
    return _questions.ask(lambda: _read_card(index, xids), None, seconds=_ANSWER_SECONDS)


def _read_card(index: int, xids: list[int]) -> CardReading | None:
    with open_nvml() as nvml, suppress(_CardLostError):
        handle = None if nvml is None else dict(_handles(nvml)).get(index)
        if nvml is None or handle is None:
            return None

        def ask(name: str, *arguments: object) -> Any:
            """None if the card or the library does not have it. Raises _CardLostError."""
            try:
                return getattr(nvml, name)(handle, *arguments)
            except AttributeError:
                return None
            except nvml.NVMLError as error:
                if getattr(error, "value", None) == nvml.NVML_ERROR_GPU_IS_LOST:
                    raise _CardLostError from error
                return None

        temperature = ask("nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU)
        memory = ask("nvmlDeviceGetMemoryInfo")
        corrected, uncorrected = (
            ask("nvmlDeviceGetTotalEccErrors", kind, nvml.NVML_VOLATILE_ECC)
            for kind in (nvml.NVML_MEMORY_ERROR_TYPE_CORRECTED, nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED)
        )
        remapped = ask("nvmlDeviceGetRemappedRows")
        slowed = int(ask("nvmlDeviceGetCurrentClocksEventReasons") or 0)
        return CardReading(
            index=index,
            xids=xids,
            temperature=None if temperature is None else int(temperature),
            memory_used_bytes=None if memory is None else int(memory.used),
            ecc_corrected=int(corrected or 0),
            ecc_uncorrected=int(uncorrected or 0),
            remapping_failed=remapped is not None and bool(remapped[3]),
            throttled=[name for bit, name in _THROTTLED.items() if slowed & bit],
        )
    return None


def is_silent() -> bool:
    """True while the driver hangs, so that nobody is to wait for it."""
    return _questions.is_silent


def is_divided(index: int) -> bool:
    """True if the card is divided into parts (MIG). The whole card then computes for nobody."""
    return _questions.ask(lambda: _is_divided(index), otherwise=False, seconds=_ANSWER_SECONDS)


def _is_divided(index: int) -> bool:
    with open_nvml() as nvml:
        handle = None if nvml is None else dict(_handles(nvml)).get(index)
        if nvml is None or handle is None:
            return False
        with suppress(nvml.NVMLError, AttributeError):
            return int(nvml.nvmlDeviceGetMigMode(handle)[0]) == 1
        return False


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

    def look() -> list[int] | None:
        with looker() as users_of:
            return users_of(index)

    return _questions.ask(look, None, seconds=_ANSWER_SECONDS)


def _handles(nvml: Any) -> Iterator[tuple[int, Any]]:
    """The handle of each card that answers, with the minor number of its device node."""
    count = 0
    with suppress(nvml.NVMLError):
        count = nvml.nvmlDeviceGetCount()
    for index in range(count):
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
            try:
                events = nvml.nvmlEventSetCreate()
            except nvml.NVMLError:
                return
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
