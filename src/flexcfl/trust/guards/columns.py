"""Safe reading of columns sent by clients, which may contain any objects.

Only arrays of numbers, and numbers of Python and NumPy, are read; no method of another object is
called. Arrays are read as a whole, because a million clients may have answered.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from flexcfl.aggregation import norms
from flexcfl.protocol import Flags, Ids, Vectors

Column: TypeAlias = NDArray[Any] | Sequence[Any]

SCALARS = {bool, int, float, *(np.dtype(code).type for code in "?bhilqBHILQefdg")}
NUMBERS = "biuf"  # the kinds of NumPy's types that are numbers; a bool is one, as in Python
WHOLE = 2**53  # from here on not all whole numbers are float64 numbers


def integers(values: Column) -> tuple[Ids, Flags]:
    """Return the whole numbers, -1 for everything else, and flags for the whole numbers.

    >>> integers([7, "seven", 7.5, None])
    (array([ 7, -1, -1, -1]), array([ True, False, False, False]))
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "bi":
        return values.astype(np.int64, copy=False), np.ones(len(values), dtype=np.bool_)
    read = reals(values)
    whole = (np.abs(read) < WHOLE) & (np.floor(read) == read)
    return np.where(whole, read, -1).astype(np.int64), whole


def reals(values: Column) -> NDArray[np.float64]:
    """Return the numbers, NaN for everything else."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in NUMBERS:
        with np.errstate(all="ignore"):  # numbers beyond float64 become infinite
            return values.astype(np.float64, copy=False)
    return np.array([_real(each) for each in values], dtype=np.float64)


def _real(value: object) -> float:
    # By exact type, because a subclass could run any code when it is converted.
    if type(value) not in SCALARS:
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return np.nan


def lengths(updates: Column, parameters: int) -> tuple[NDArray[np.float64], Flags]:
    """Return the length of each update, and flags for vectors of ``parameters`` numbers.

    A length is finite exactly if all numbers are finite as float32: the sum of their squares is far
    below the largest float64. Anything else has length 0.
    """
    with np.errstate(all="ignore"):  # numbers beyond float32, and signalling NaNs
        if _is_matrix(updates, parameters):
            return norms(np.asarray(updates)), np.ones(len(updates), dtype=np.bool_)
        fits = np.array([_fits(each, parameters) for each in updates], dtype=np.bool_)
        found = np.zeros(len(fits))
        for row in np.flatnonzero(fits).tolist():
            found[row] = norms(np.asarray(updates[row], dtype=np.float32)[np.newaxis])[0]
    return found, fits


def matrix(updates: Column, rows: Ids, parameters: int) -> Vectors:
    """Return some updates of the right shape as the rows of a matrix."""
    if _is_matrix(updates, parameters):
        return take_rows(np.asarray(updates), rows)
    chosen = np.empty((len(rows), parameters), dtype=np.float32)
    for place, row in enumerate(rows.tolist()):
        chosen[place] = updates[row]
    return chosen


def take_rows(column: NDArray[Any], rows: Ids) -> NDArray[Any]:
    """Return some rows, or the column itself if these are all rows in order."""
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
