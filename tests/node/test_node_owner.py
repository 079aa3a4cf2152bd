"""The owner of a machine takes it back from a node and lends it again, and the node looks after its cards."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from broker_service import Service, StartNode, heartbeat

from worker.cards.nvml import find_gpus
from worker.toolchains import ToolchainStore


@pytest.mark.sandbox
def test_a_machine_is_had_back_and_lent_again(
    service: Service, start_node: StartNode, toolchain: str, tmp_path: Path
) -> None:
    pause = tmp_path / "pause"
    start_node(SAMEHERE_PAUSE_FILE=str(pause))
    service.hear("hello")
    service.give("long", "import time; time.sleep(250)", toolchain)
    assert service.hear("started")["attempt_id"] == "long"
    # Running attempts may end, and no new one starts.
    pause.touch()
    assert heartbeat(service, draining=True)["free_slots"] == 0
    service.give("later", "print(1)", toolchain)
    given_back = service.hear("result")
    assert (given_back["attempt_id"], given_back["outcome"]) == ("later", "cancelled")
    assert heartbeat(service, draining=True)["running"] == ["long"]
    # Now the machine is given back whole, and the service hears of it at once.
    pause.write_text("now")
    given_back = service.hear("result", seconds=10)
    assert (given_back["attempt_id"], given_back["outcome"]) == ("long", "cancelled")
    end = time.monotonic() + 60
    while heartbeat(service, draining=True)["running"] and time.monotonic() < end:
        time.sleep(0.1)
    assert heartbeat(service, draining=True)["running"] == []
    pause.unlink()
    assert heartbeat(service, draining=False)["free_slots"] == 1
    service.give("again", "print('again')", toolchain)
    result = service.hear("result")
    assert (result["attempt_id"], result["observation"]["stdout"]) == ("again", "again\n")


@pytest.mark.sandbox
def test_outside_its_hours_a_node_takes_nothing(service: Service, start_node: StartNode) -> None:
    hour = (time.localtime().tm_hour + 12) % 24
    start_node(SAMEHERE_HOURS=f"{hour:02d}:00-{hour:02d}:01")
    service.hear("hello")
    assert heartbeat(service, draining=True)["free_slots"] == 0


def test_hours_that_are_none_end_the_start(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node(SAMEHERE_HOURS="at night")
    assert node.wait(30) == 2
    assert "22:00-07:00" in (tmp_path / "node.log").read_text()


ON_CARD = (
    "import torch\nprint((torch.ones(8, 8, device='cuda') @ torch.ones(8, 8, device='cuda')).sum().item())\n"
)
HOLDS_CARD = (
    "import time, torch\nx = torch.ones(1, device='cuda')\nprint('held', flush=True)\ntime.sleep(60)\n"
)


@pytest.mark.sandbox
@pytest.mark.parametrize("card", ["from_start", "at_touch"])
def test_a_card_is_checked_before_it_gives_evidence(
    service: Service, start_node: StartNode, toolchains: Path, toolchain: str, card: str
) -> None:
    if not find_gpus():
        pytest.skip("no NVIDIA card here")
    places = "1" if card == "from_start" else "3"
    start_node(SAMEHERE_CARD_CHECK_MEMORY_BYTES=str(1 << 28), SAMEHERE_CARD_PLACES=places)
    until_card(service, "unchecked")
    checked = until_card(service, "sound")
    service.give("a", ON_CARD, toolchain, device="cuda", gpus=1, card=card)
    result = service.hear("result", seconds=90)
    assert result["observation"]["stdout"] == "512.0\n", result
    assert (result["observation"]["card_waited_seconds"] is None) == (card == "from_start")
    (reading,) = result["observation"]["cards"]
    assert (reading["ecc_uncorrected"], reading["xids"], reading["sound_at"]) == (0, [], checked["sound_at"])
    assert 10 < reading["temperature"] < 110
    # Somebody else computes on it: the attempt is given back, without a result.
    found = ToolchainStore(toolchains).find(toolchain)
    assert found is not None
    with subprocess.Popen([found.python, "-c", HOLDS_CARD], stdout=subprocess.PIPE) as other:
        try:
            assert other.stdout is not None
            assert other.stdout.readline() == b"held\n"
            service.give("b", ON_CARD, toolchain, device="cuda", gpus=1, card=card)
            until_card(service, "in_use")
        finally:
            other.kill()
    until_card(service, "sound")


def until_card(service: Service, state: str) -> dict[str, Any]:
    """The detail of the first card once it is in this state."""
    for _ in range(20):
        card: dict[str, Any] = service.hear("hello")["gpus"][0]
        if card["state"] == state:
            return card
    pytest.fail(f"the card is {card}")
