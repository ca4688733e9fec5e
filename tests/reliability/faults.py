"""Calls of ``os`` that change a folder: counted, and brought to fail at a chosen one."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

__all__ = ["AtOnce", "Call", "DeathError", "Disk", "Fault", "Interrupted"]

NAMES = (
    *("open", "fdopen", "close", "write", "writev", "fsync", "ftruncate"),
    *("replace", "unlink", "mkdir", "rmdir"),
)


class DeathError(BaseException):
    """The process is dead: whatever it would still do, it does not do."""


@dataclass(frozen=True)
class Call:
    """A call that changes the disk; ``path`` is relative to the folder that is watched.

    ``extra`` is what was written, the new length, or the new name; of ``open`` whether what is
    there goes.
    """

    name: str
    path: Path
    extra: Any = None


@dataclass(frozen=True)
class Fault:
    """What happens at which call: death before it or within it, or an error that is raised once."""

    at: int
    kind: Literal["before", "half", "error"] = "before"
    errno: int = 0


@dataclass(eq=False)
class Disk:
    """Within its block, all calls that change ``root`` are noted, and ``fault`` happens to one.

    ``calls`` are all that were tried, ``done`` those that worked. Nothing waits for the real disk.
    After a death every further call is one, too; at the end files that are still open are closed,
    and so locks are given back, as the system does.
    """

    root: Path
    fault: Fault | None = None
    calls: list[Call] = field(default_factory=list)
    done: list[Call] = field(default_factory=list)
    dead: bool = False
    _real: dict[str, Callable[..., Any]] = field(default_factory=dict)
    _open: dict[int, Path] = field(default_factory=dict)
    _turn: Any = field(default_factory=threading.RLock)

    def __enter__(self) -> "Disk":
        self._real = {name: getattr(os, name) for name in NAMES}
        for name in NAMES:
            setattr(os, name, getattr(self, f"_{name}") if name != "open" else self._opened)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        for name, function in self._real.items():
            setattr(os, name, function)
        for file in self._open:
            os.close(file)
        return kind is DeathError

    def _inside(self, path: Any) -> Path | None:
        if not isinstance(path, str | os.PathLike):
            return None
        whole = Path(os.path.abspath(path))  # noqa: PTH100  (symbolic links are not followed)
        return whole.relative_to(self.root) if whole.is_relative_to(self.root) else None

    def _do(self, call: Call, act: Callable[[], Any], half: Callable[[], Any]) -> Any:
        with self._turn:
            if self.dead:
                raise DeathError
            self.calls.append(call)
            fault = self.fault
            if fault is None or fault.at != len(self.calls):
                result = act()
                self.done.append(call)
                return result
            if fault.kind == "error":
                raise OSError(fault.errno, os.strerror(fault.errno))
            self.dead = True
            if fault.kind == "half":
                half()
            raise DeathError

    def _opened(self, path: Any, flags: int, *more: Any, **named: Any) -> int:
        inside = self._inside(path)

        def act() -> int:
            file: int = self._real["open"](path, flags, *more, **named)
            if inside is not None:
                self._open[file] = inside
            return file

        if inside is None or not flags & os.O_CREAT:
            return act()
        opened: int = self._do(Call("open", inside, bool(flags & os.O_TRUNC)), act, act)
        return opened

    def _close(self, file: int) -> None:
        self._open.pop(file, None)
        self._real["close"](file)

    def _fdopen(self, file: int, *more: Any, **named: Any) -> Any:
        self._open.pop(file, None)  # it is closed by its own means
        return self._real["fdopen"](file, *more, **named)

    def _write(self, file: int, content: Any) -> int:
        real, name = self._real["write"], self._open.get(file)
        if name is None:
            return int(real(file, content))
        half = memoryview(content).cast("B")[: len(content) // 2]
        call = Call("write", name, bytes(content))
        return int(self._do(call, lambda: real(file, content), lambda: real(file, half)))

    def _writev(self, file: int, parts: Any) -> int:
        if file in self._open:
            return self._write(file, b"".join(parts))
        return int(self._real["writev"](file, parts))

    def _fsync(self, file: int) -> None:
        name = self._open.get(file)
        if name is not None:
            self._do(Call("fsync", name), lambda: None, lambda: None)

    def _ftruncate(self, file: int, length: int) -> None:
        self._named("ftruncate", self._open.get(file), length, file, length)

    def _replace(self, old: Any, new: Any) -> None:
        self._named("replace", self._inside(old), self._inside(new), old, new)

    def _unlink(self, path: Any, **named: Any) -> None:
        self._named("unlink", self._inside(path), None, path, **named)

    def _mkdir(self, path: Any, *more: Any, **named: Any) -> None:
        self._named("mkdir", self._inside(path), None, path, *more, **named)

    def _rmdir(self, path: Any, **named: Any) -> None:
        self._named("rmdir", self._inside(path), None, path, **named)

    def _named(
        self, name: str, inside: Path | None, extra: Any, *arguments: Any, **named: Any
    ) -> None:
        def act() -> None:
            self._real[name](*arguments, **named)

        if inside is None:
            act()
        else:
            self._do(Call(name, inside, extra), act, act)


class Interrupted(Disk):
    """A process that dies when it is about to write down its third round."""

    number = 3

    def _write(self, file: int, content: Any) -> int:
        self.dead = self.dead or bytes(content).startswith(f"{self.number},".encode())
        return super()._write(file, content)


class AtOnce:
    """Stands for the thread that saves."""

    def __init__(self, **_settings: object) -> None: ...

    def submit(self, work: Callable[[Any], None], *arguments: Any) -> "Future[None]":
        done: Future[None] = Future()
        try:
            work(*arguments)
            done.set_result(None)
        except BaseException as error:
            done.set_exception(error)
        return done

    def shutdown(self) -> None: ...
