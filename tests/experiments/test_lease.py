"""Leases: one holder at a time, takeover of the dead, and clocks that differ."""

from __future__ import annotations

import pytest
from tests.waiting import wait_until

from inweights.runs.tables import lease as module
from inweights.runs.tables.files import Folder
from inweights.runs.tables.lease import Leases, LostError


class Clock:
    """A clock that tests set by hand, so that they need not wait."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def held(leases: Leases, task: str = "t") -> bool:
    with leases.hold(task) as hold:
        return hold is not None


def wait(clock: Clock, leases: Leases, seconds: float, look: float = 1.0) -> list[bool]:
    seen = []
    for _ in range(round(seconds / look)):
        clock.now += look
        seen.append(held(leases))
    return seen


def test_one_holds_and_the_next_gets_it_when_it_is_free(tmp_path) -> None:
    one, other = (Leases(Folder(tmp_path), 10.0, owner) for owner in "ab")
    with one.hold("t") as hold:
        assert hold
        hold.check()
        assert not held(other)
        assert held(other, "another")
        assert list(other.live()) == ["t"]
    assert held(other)
    assert not Folder(tmp_path).names("")


def test_a_dead_holder_is_taken_over_after_the_lease_and_not_before(
    tmp_path, clock
) -> None:
    files = Folder(tmp_path)
    dead, other = Leases(files, 10.0, "a"), Leases(files, 10.0, "b")
    assert dead._take("t")[1]  # and there is no further heartbeat
    assert not held(other)
    seen = wait(clock, other, 12)
    assert not any(seen[:10])
    assert any(seen)


def test_a_holder_that_beats_is_never_taken_over(tmp_path, clock) -> None:
    files = Folder(tmp_path)
    alive, other = Leases(files, 10.0, "a"), Leases(files, 10.0, "b")
    _, name = alive._take("t")
    assert name
    for _ in range(20):
        assert not any(wait(clock, other, 5))
        files.write(name, alive._content())


def test_no_time_of_two_machines_is_compared(tmp_path, monkeypatch, clock) -> None:
    """A process whose clock is a year ahead takes over no lease of a living process."""
    files = Folder(tmp_path)
    alive, ahead = Leases(files, 10.0, "a"), Leases(files, 10.0, "b")
    _, name = alive._take("t")
    assert name
    clock.now += 365 * 24 * 3600.0
    assert not held(ahead)
    for _ in range(10):
        clock.now += 3.0
        files.write(name, alive._content())
        assert not held(ahead)


def test_a_store_that_was_away_does_not_count_as_silence(tmp_path, clock) -> None:
    files = Folder(tmp_path)
    alive, other = Leases(files, 10.0, "a"), Leases(files, 10.0, "b")
    alive._take("t")
    assert not held(other)
    clock.now += 1000.0  # neither process could reach the store
    assert not held(other)
    assert not any(wait(clock, other, 9))


def test_of_many_that_take_over_one_does(tmp_path, clock) -> None:
    files = Folder(tmp_path)
    Leases(files, 10.0, "dead")._take("t")
    others = [Leases(files, 10.0, str(i)) for i in range(5)]
    won = []
    for _ in range(12):
        clock.now += 1.0
        won += [one.owner for one in others if one._take("t")[1]]
    assert len(won) == 1


def test_who_hands_out_tasks_takes_over_its_own_at_once(tmp_path) -> None:
    files = Folder(tmp_path)
    Leases(files, 1000.0, "driver")._take("t")
    assert not held(Leases(files, 1000.0, "other"))
    assert held(Leases(files, 1000.0, "driver"))


def test_who_hands_out_tasks_watches_for_its_processes(tmp_path, clock) -> None:
    """Each of these looks once, and so sees never that a holder is dead."""
    files = Folder(tmp_path)
    driver = Leases(files, 10.0, "driver")
    assert driver.free("t")
    Leases(files, 10.0, "dead")._take("t")
    while not driver.free("t"):
        assert not held(Leases(files, 10.0, "driver"))
        clock.now += 1.0
    assert clock.now > 1010
    assert not held(Leases(files, 10.0, "other"))
    assert held(Leases(files, 10.0, "driver"))


def test_who_was_taken_over_learns_it(tmp_path) -> None:
    files = Folder(tmp_path)
    paused, other = Leases(files, 0.2, "a"), Leases(files, 0.2, "a")
    with paused.hold("t") as hold, other.hold("t") as second:
        assert second
        wait_until(lambda: hold.lost)
        with pytest.raises(LostError):
            hold.check()
        second.check()
    assert not files.names("")
