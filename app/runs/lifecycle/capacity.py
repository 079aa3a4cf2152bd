"""The free capacities of nodes: attempts, cards, and places for attempts that wait for their card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlalchemy.orm import Session

from app.runs.lifecycle.card_use import card_uses
from app.storage.queries.queue.queue import Candidate, Hold
from app.targets.fleet import can_serve, cards_of_kind, usable_cards
from app.targets.target import Target, target_of
from worker.contract import AttemptKind, CardUse, Hello, Level


@dataclass(slots=True)
class NodeCapacity:
    """A living node with its free capacities: attempts, cards and previews."""

    hello: Hello
    attempts: int
    previews: int = 0
    # The attempts under way that get their card at their first touch.
    at_touch: int = 0
    # The attempts under way that have their cards from the start.
    from_start: int = 0
    # The same two counts at the beginning of the round.
    at_touch_before: int = 0
    from_start_before: int = 0
    # The places for attempts on cards that are taken, by the kind of card that was asked for; None: any kind.
    # An attempt that has its cards from the start takes all places of each.
    _taken: Counter[str | None] = field(default_factory=Counter)
    # The targets of attempts that wait for cards. None starts before them on cards that they may use.
    _waiting: list[Target] = field(default_factory=list)
    _answers: dict[str, bool] = field(default_factory=dict)

    @property
    def places(self) -> int:
        """The number of attempts that may be under way for each card."""
        return self.hello.card_places

    def free_places(self, target: Target) -> int:
        """The number of free places for attempts on cards of the target's kind."""
        free = len(usable_cards(self.hello.gpus)) * self.places - self._taken.total()
        if target.capability is None:
            return free
        of_kind = len(usable_cards(cards_of_kind(self.hello, target))) * self.places
        return min(free, of_kind - self._taken[target.capability])

    def serves(self, target: Target, *, required_level: Level) -> bool:
        """Whether the node could ever run this target."""
        label = target.label()
        if label not in self._answers:
            self._answers[label] = can_serve(self.hello, target, required_level=required_level) is None
        return self._answers[label]

    def use_of(self, target: Target, use: CardUse) -> CardUse:
        """When an attempt on the target gets its cards on this node."""
        if use is CardUse.AT_TOUCH and self.places > 1 and target.cards_needed == 1:
            return CardUse.AT_TOUCH
        return CardUse.FROM_START

    def can_take(self, target: Target, *, required_level: Level, use: CardUse = CardUse.FROM_START) -> bool:
        """Whether the node has a free place for the target now."""
        return (
            self.attempts > 0
            and self.serves(target, required_level=required_level)
            and self._has_cards(target, use)
        )

    def _has_cards(self, target: Target, use: CardUse) -> bool:
        if target.cards_needed == 0:
            return True
        kind = target.capability
        if any(None in (kind, each.capability) or kind == each.capability for each in self._waiting):
            return False
        if self.use_of(target, use) is CardUse.FROM_START:
            return target.cards_needed * self.places <= self.free_places(target) and self.at_touch == 0
        return self.from_start == 0 and self.free_places(target) > 0

    def can_reserve(self, target: Target, *, required_level: Level, use: CardUse) -> bool:
        """Whether the node may keep cards for an attempt: one on several, or others of another kind run."""
        has_to_wait = target.cards_needed > 1 or self.has_other_kind(target, use)
        return has_to_wait and self.attempts > 0 and self.serves(target, required_level=required_level)

    def has_other_kind(self, target: Target, use: CardUse) -> bool:
        """Whether attempts are under way that get their cards at another time than this one would."""
        is_from_start = self.use_of(target, use) is CardUse.FROM_START
        return (self.at_touch if is_from_start else self.from_start) > 0

    def is_other_kind_older(self, target: Target, use: CardUse) -> bool:
        """Whether attempts of the other kind began in an earlier round."""
        is_from_start = self.use_of(target, use) is CardUse.FROM_START
        return (self.at_touch_before if is_from_start else self.from_start_before) > 0

    def reserve(self, target: Target) -> None:
        """Let no more attempts start on cards that this one may use."""
        self._waiting.append(target)

    def can_preview(self, target: Target, *, required_level: Level) -> bool:
        """Whether the node has a free place for a preview of the target now."""
        return self.previews > 0 and self.serves(target, required_level=required_level)

    def fill(
        self,
        target: Target,
        kind: AttemptKind = AttemptKind.REPEAT,
        use: CardUse = CardUse.FROM_START,
    ) -> None:
        """Take the capacities of one attempt."""
        if kind is AttemptKind.PREVIEW:
            self.previews -= 1
            return
        self.attempts -= 1
        if target.cards_needed == 0:
            return
        if self.use_of(target, use) is CardUse.AT_TOUCH:
            self.at_touch += 1
            self._taken[target.capability] += 1
            return
        self.from_start += 1
        self._taken[target.capability] += target.cards_needed * self.places


def read_card_uses(
    session: Session, fleet: Mapping[str, Hello], attempts: Sequence[Candidate | Hold]
) -> dict[str, CardUse]:
    """When the attempts of jobs get their card, by job id; without an entry, from the start.

    Read only if that matters to a node.
    """
    if all(hello.card_places == 1 for hello in fleet.values()):
        return {}
    return card_uses(session, {each.job_id for each in attempts if target_of(each).cards_needed == 1})


def use_of(attempt: Candidate | Hold, uses: Mapping[str, CardUse], *, first_lease: int) -> CardUse:
    """When an attempt gets its card. One that is leased again has waited for it in vain, or was lost."""
    if attempt.lease_no > first_lease:
        return CardUse.FROM_START
    return uses.get(attempt.job_id, CardUse.FROM_START)


def capacities_of(
    fleet: Mapping[str, Hello], holds: Sequence[Hold], uses: Mapping[str, CardUse]
) -> dict[str, NodeCapacity]:
    """The free capacities of the nodes that hold these attempts, by node."""
    capacities = {
        name: NodeCapacity(
            hello=hello,
            attempts=hello.slots + 1,
            previews=hello.previews + 1 if hello.previews > 0 else 0,
        )
        for name, hello in fleet.items()
    }
    for hold in holds:
        if hold.node in capacities:
            capacities[hold.node].fill(target_of(hold), hold.kind, use_of(hold, uses, first_lease=1))
    for capacity in capacities.values():
        capacity.at_touch_before, capacity.from_start_before = capacity.at_touch, capacity.from_start
    return capacities
