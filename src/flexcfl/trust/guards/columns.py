"""Columns of what clients sent, which may be anything, read without calling any of it.

Only arrays of numbers, and the numbers of Python and NumPy, are read. An array is read as a whole,
because a million clients may have answered.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import norms
from flexcfl.protocol import Flags, Ids, Vectors

__all__ = ["Column", "integers", "lengths", "matrix", "reals", "take_rows"]

Column: TypeAlias = NDArray[Any] | Sequence[Any]

SCALARS = {bool, int, float, *(np.dtype(code).type for code in "?bhilqBHILQefdg")}
NUMBERS = "biuf"  # the kinds of NumPy's types that are numbers; a bool is one, as in Python
WHOLE = 2**53  # from here on not all whole numbers are float64 numbers


def integers(values: Column) -> tuple[Ids, Flags]:
    """Return whole numbers, -1 for everything else, and which are whole numbers.

    >>> integers([7, "seven", 7.5, None])
    (array([ 7, -1, -1, -1]), array([ True, False, False, False]))
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "bi":
        return values.astype(np.int64, copy=False), np.ones(len(values), dtype=np.bool_)
    read = reals(values)
    whole = (np.abs(read) < WHOLE) & (np.floor(read) == read)
    return np.where(whole, read, -1).astype(np.int64), whole


def reals(values: Column) -> NDArray[np.float64]:
    """Return numbers, NaN where there is none."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in NUMBERS:
        with np.errstate(all="ignore"):  # of numbers beyond float64, which become infinite
            return values.astype(np.float64, copy=False)
    return np.array([_real(each) for each in values], dtype=np.float64)


def _real(value: object) -> float:
    # By exact type: what is only like a number could do anything when it is asked for its value.
    if type(value) not in SCALARS:
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return np.nan


def lengths(updates: Column, parameters: int) -> tuple[NDArray[np.float64], Flags]:
    """Return the length of each update, and which are vectors of so many numbers.

    A length is finite exactly where all numbers are, as float32: the sum of their squares is far
    from the largest float64 number. Of what is no such vector the length is 0.
    """
    with np.errstate(all="ignore"):  # of numbers beyond float32, and of NaNs that signal
        if _is_matrix(updates, parameters):
            return norms(np.asarray(updates)), np.ones(len(updates), dtype=np.bool_)
        fits = np.array([_fits(each, parameters) for each in updates], dtype=np.bool_)
        found = np.zeros(len(fits))
        for row in np.flatnonzero(fits).tolist():
            found[row] = norms(np.asarray(updates[row], dtype=np.float32)[np.newaxis])[0]
    return found, fits


def matrix(updates: Column, rows: Ids, parameters: int) -> Vectors:
    """Return some updates that fit as the rows of a matrix."""
    if _is_matrix(updates, parameters):
        return take_rows(np.asarray(updates), rows)
    chosen = np.empty((len(rows), parameters), dtype=np.float32)
    for place, row in enumerate(rows.tolist()):
        chosen[place] = updates[row]
    return chosen


def take_rows(column: NDArray[Any], rows: Ids) -> NDArray[Any]:
    """Return some rows, or the column itself where these are all of them in its own order."""
    if len(rows) == len(column) and (rows[1:] > rows[:-1]).all():
        return column
    return column[rows]


def _is_matrix(updates: Column, parameters: int) -> bool:
    return (
        isinstance(updates, np.ndarray)
        and updates.dtype == np.float32
        and updates.shape[1:] == (parameters,)
    )


def _fits(update: object, parameters: int) -> bool:
    return (
        isinstance(update, np.ndarray)
        and update.shape == (parameters,)
        and update.dtype.kind in NUMBERS
    )
