"""How long one waits after trouble."""

from pilotage.cluster.transport.retry_delay import RetryDelay


class Clock:
    """Time that passes when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_wait_is_between_half_and_all_of_twice_the_last_up_to_a_limit() -> None:
    delay = RetryDelay(clock=Clock())
    for step in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30):
        assert step / 2 <= delay.next() <= step


def test_waits_differ_so_that_not_all_come_back_at_once() -> None:
    assert len({RetryDelay(clock=Clock()).next() for _ in range(20)}) > 1


def test_two_minutes_of_health_after_the_last_wait_make_trouble_new() -> None:
    clock = Clock()
    delay = RetryDelay(clock=clock)
    for _ in range(6):
        last = delay.next()
    clock.now = last + 119
    last = delay.next()
    assert last >= 15
    clock.now += last + 120.5
    assert delay.next() <= 0.8
