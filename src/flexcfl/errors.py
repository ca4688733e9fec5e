"""Errors, and sentences that say what went wrong and what to do next."""

import difflib
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from flexcfl import synonyms

__all__ = [
    *("DataError", "DataWarning", "DiskError", "FlexcflError", "ModelError", "SettingsError"),
    *("TrainingError", "data_warnings_to", "nearest", "not_installed", "out_of_memory"),
    *("printable", "reason", "os_error_text", "matching_name", "unknown"),
]

# The messages of torch, which has no error type for this, on a CPU and on a GPU.
NO_MEMORY = ("can't allocate memory", "out of memory")


class FlexcflError(Exception):
    """A mistake that the user can correct. Its text is one sentence; the command exits with 2.

    Names from files may contain anything, so characters that control a terminal are escaped.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class SettingsError(FlexcflError):
    """A setting that does not exist, is out of range, or contradicts another."""


class DataError(FlexcflError):
    """A file that is missing or broken, or data that cannot form a federation."""


class DataWarning(UserWarning):
    """Data that form a federation, but probably not the intended one."""


class ModelError(FlexcflError):
    """A model that does not fit the data, or whose copies cannot be trained together."""


class TrainingError(FlexcflError):
    """A run that cannot continue, such as one whose loss has become NaN."""


class DiskError(TrainingError):
    """A run that cannot continue until a file can be written again."""

    path: object = None
    reason: str | None = None

    @classmethod
    def of(cls, path: object, reason: str | None, then: str = "and run again.") -> "DiskError":
        """Return the error for a file, with what to do once it can be written."""
        error = cls(
            f"'{path}' cannot be written ({reason}): make room or fix its permissions, {then}"
        )
        error.path, error.reason = path, reason
        return error


def printable(text: str) -> str:
    r"""Return a text with all characters escaped that control a terminal or end a line.

    >>> print(printable("two\nlines"))
    two\nlines
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


def reason(error: BaseException) -> str:
    """Return the first sentence of an error's message, or its type, for use within a sentence.

    >>> reason(ValueError("No such thing. Try another one.")), reason(KeyError())
    ('No such thing', 'KeyError')
    """
    words = " ".join(str(error).split())
    return words.split(". ")[0].rstrip(".") or type(error).__name__


def os_error_text(error: OSError) -> str:
    """Return the sentence for an ``OSError`` that nothing else explains.

    >>> os_error_text(OSError(5, "Input/output error", "a.csv")).split(":")[0]
    "'a.csv' cannot be used (Input/output error)"
    """
    what = "A file or a folder" if error.filename is None else f"'{error.filename}'"
    return (
        f"{what} cannot be used ({error.strerror or error}): see that it is there, that its rights "
        "and its disk allow it, and run again."
    )


def unknown(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for an unknown name, with the nearest known one.

    >>> unknown("dataset", "minst", ["digits", "mnist"])
    "There is no dataset 'minst': did you mean 'mnist'? Known: digits, mnist."
    """
    names = sorted(known)
    near = nearest(name, names)
    hint = f": did you mean '{near}'?" if near else "."
    return f"There is no {kind} '{name}'{hint} Known: {', '.join(names)}."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant: a synonym, or one that is spelled like it.

    >>> nearest("MNIST", ["digits", "mnist"]), nearest("lr", ["rounds", "rate"])
    ('mnist', 'rate')
    """
    by_plain = {_plain(each): each for each in known}
    found = matching_name(name, by_plain)
    if found is not None or synonyms.absent(_plain(name)):
        return by_plain.get(found or "")
    # A word of other frameworks is no typing error, unless it is almost the same.
    cutoff = 0.7 if synonyms.is_word(_plain(name)) else 0.5
    near = difflib.get_close_matches(_plain(name), by_plain, n=1, cutoff=cutoff)
    return by_plain[near[0]] if near else None


def matching_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that equals ``name`` except for case and dashes, or a synonym of it.

    >>> matching_name("Batch-Size", ["rate", "batch"]), matching_name("btch", ["rate", "batch"])
    ('batch', None)
    """
    by_plain = {_plain(each): each for each in known}
    plain = _plain(name)
    found = plain if plain in by_plain else synonyms.meant(plain, by_plain)
    return None if found is None else by_plain[found]


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")


def not_installed(error: ImportError) -> str:
    """Return the sentence for a package that is missing or broken.

    >>> not_installed(ImportError("no such file", name="torch")).split(":")[0]
    "'torch', which flexcfl needs, cannot be imported (no such file)"
    """
    what = "A package" if error.name is None else f"'{error.name}'"
    return (
        f"{what}, which flexcfl needs, cannot be imported ({reason(error)}): install flexcfl "
        "again, best into a new environment (python -m venv)."
    )


def out_of_memory(error: BaseException) -> bool:
    """Whether an error of Python or torch says that memory has run out."""
    of_torch = isinstance(error, RuntimeError) and any(sign in str(error) for sign in NO_MEMORY)
    return of_torch or isinstance(error, MemoryError)


@contextmanager
def data_warnings_to(tell: Callable[[str], object]) -> Iterator[None]:
    """Pass the text of every ``DataWarning`` to a function, without its line of code."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, DataWarning):
            tell(printable(str(message)))
        else:
            usual(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual
