"""A bounded memory of results that are costly to make, and change only as secrets become known."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from workspaces.logs import opened

T = TypeVar("T")


class Kept(Generic[T]):
    """Keeps the results used last, up to a total weight. Two threads may make the same one at once, harmlessly."""

    def __init__(self, limit: int, weigh: Callable[[T], int] = lambda _: 1) -> None:
        self._limit, self._weigh = limit, weigh
        self._weight = 0
        self._found: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what is kept under the key, or make it; anew once there was a new secret (workspaces/cuts.py)."""
        key = (opened.changes, key)
        with self._lock:
            if key in self._found:
                self._found.move_to_end(key)
                return self._found[key]
        made = make()
        self._keep(key, made)
        return made

    def _keep(self, key: Hashable, made: T) -> None:
        weight = self._weigh(made)
        if weight > self._limit // 8:
            return
        with self._lock:
            if key not in self._found:
                self._found[key] = made
                self._weight += weight
            while self._weight > self._limit:
                self._weight -= self._weigh(self._found.popitem(last=False)[1])
