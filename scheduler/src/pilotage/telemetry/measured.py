"""Measures the slices of a coroutine: the CPU time of each of its turns on the event loop."""

from collections.abc import Callable, Coroutine, Generator
from time import thread_time
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


class Measured(Generic[Result]):
    """Awaits a coroutine, and reports how long each slice took."""

    def __init__(self, coroutine: Coroutine[Any, Any, Result], report: Callable[[float], None]) -> None:
        self._coroutine, self._report = coroutine, report

    def __await__(self) -> Generator[Any, Any, Result]:
        steps = self._coroutine
        resume: Callable[[Any], Any] = steps.send
        given: Any = None
        while True:
            began = thread_time()
            try:
                awaited = resume(given)
            except StopIteration as end:
                result: Result = end.value
                return result
            finally:
                self._report(thread_time() - began)
            try:
                given, resume = (yield awaited), steps.send
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as error:
                given, resume = error, steps.throw
