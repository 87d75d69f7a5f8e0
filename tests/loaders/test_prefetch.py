"""StreamKeepAlive, on a stand-in for CUDA's streams that is behind as far as a test says."""

from __future__ import annotations

import weakref
from collections import deque

from gloam.loaders.prefetch import StreamKeepAlive


class Memory:
    """Memory to be kept."""


class Event:
    def __init__(self, stream: Stream) -> None:
        self.stream, self.number = stream, stream.begun

    def query(self) -> bool:
        return self.number <= self.stream.done

    def synchronize(self) -> None:
        self.stream.waited.append(self.number)
        self.stream.done = max(self.stream.done, self.number)


class Stream:
    def __init__(self) -> None:
        self.begun = self.done = 0
        self.waited: deque[int] = deque()

    def record_event(self) -> Event:
        self.begun += 1
        return Event(self)


def kept(held: StreamKeepAlive, stream: Stream) -> weakref.ref[Memory]:
    memory = Memory()
    held.keep([memory], stream)
    return weakref.ref(memory)


def test_what_is_read_is_let_go_of_and_nothing_before():
    stream, held = Stream(), StreamKeepAlive(3)
    first, second = kept(held, stream), kept(held, stream)
    assert first() is not None
    assert second() is not None
    stream.done = 1
    third = kept(held, stream)
    assert first() is None
    assert second() is not None
    assert third() is not None
    assert not stream.waited


def test_where_too_much_would_be_kept_the_oldest_is_waited_for():
    stream, held = Stream(), StreamKeepAlive(2)
    memories = [kept(held, stream) for _ in range(5)]
    assert [memory() is not None for memory in memories] == [False, False, False, True, True]
    assert list(stream.waited) == [1, 2, 3]
    assert len(held) == 2


def test_all_is_waited_for_before_the_rest_is_let_go_of():
    stream = Stream()
    held = StreamKeepAlive(4)
    memories = [kept(held, stream) for _ in range(3)]
    del held
    assert list(stream.waited) == [3]
    assert not any(memory() for memory in memories)
