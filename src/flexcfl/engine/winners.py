"""The compiled backward pass of a convolution below a max pool, without the errors that are zero.

A 2 by 2 pool passes errors to one output in four, and the ReLU and the dropout next to it stop many
of those: nine in ten are zero in the paper's CNN for MNIST. Multiplying by the others only takes
less than half the time of torch's dense product.

Everything is in one file because of the way compiled functions are cached: see ``compiling``.
"""

import numpy as np
from numba import float32, int64, njit, types

from flexcfl.engine.compiling import MATH, compiled

TOGETHER = 4  # rows that are added at once, so that their sum is loaded and stored once


# Inlined, so that Numba does not count references to the rows: for such short rows, counting took
# almost as long as adding.
@njit(fastmath=MATH, inline="always")
def _add(row, x0, x1, x2, x3, c0, c1, c2, c3):
    """Add four rows, each times its factor, to another."""
    for k in range(len(row)):
        row[k] += (c0 * x0[k] + c1 * x1[k]) + (c2 * x2[k] + c3 * x3[k])


@njit(fastmath=MATH)
def _filled(places, factors, count):
    """Pad to a multiple of ``TOGETHER`` with entries that add nothing, and return the new count."""
    while count % TOGETHER:
        places[count] = 0
        factors[count] = 0
        count += 1
    return count


@njit(fastmath=MATH)
def _spread(weight, below, row, column, channels, factors, count):
    """Add the kernels of channels, each times its error, to their input patch."""
    width = weight.shape[2]
    for t in range(0, count, TOGETHER):
        w0, w1 = weight[channels[t]], weight[channels[t + 1]]
        w2, w3 = weight[channels[t + 2]], weight[channels[t + 3]]
        for k in range(weight.shape[1]):
            patch = below[row + k, column : column + width]
            _add(
                patch, w0[k], w1[k], w2[k], w3[k],
                factors[t], factors[t + 1], factors[t + 2], factors[t + 3],
            )  # fmt: skip


@njit(fastmath=MATH)
def _gather(x, length, gradient, places, factors, count):
    """Add the patches at places, each times its error, to the gradient of one kernel."""
    width = gradient.shape[1]
    for t in range(0, count, TOGETHER):
        for k in range(len(gradient)):
            p0, p1 = places[t] + k * length, places[t + 1] + k * length
            p2, p3 = places[t + 2] + k * length, places[t + 3] + k * length
            _add(
                gradient[k],
                x[p0 : p0 + width], x[p1 : p1 + width], x[p2 : p2 + width], x[p3 : p3 + width],
                factors[t], factors[t + 1], factors[t + 2], factors[t + 3],
            )  # fmt: skip


_Images = types.Array(float32, 3, "C")
_BACKWARD = types.void(
    _Images, _Images, types.Array(float32, 4, "C"), int64, int64,
    _Images, _Images, types.Array(float32, 1, "C"),
    types.Array(int64, 2, "C"), types.Array(float32, 2, "C"),
)  # fmt: skip


@compiled(_BACKWARD)
def backward(x, weight, error, down, right, below, gradient, bias, places, factors):
    """Add to the errors ``below`` and to the gradients of kernels and biases.

    Channels come last: ``x`` and ``below`` are ``(examples, height, width * inputs)`` with the
    padding, ``weight`` and ``gradient`` are ``(outputs, height, width * inputs)``, and ``error`` is
    ``(examples, height, width, outputs)``. A step of the kernel is ``down`` rows, or ``right``
    numbers of a row. ``places`` and ``factors`` have a row for every output and one more, each with
    room for ``TOGETHER - 1`` more than there are errors of an output, and of a position.
    """
    examples, height, width, outputs = error.shape
    rows, length = x.shape[1:]
    counts = np.zeros(outputs, np.int64)
    channels, own = places[outputs], factors[outputs]
    for n in range(examples):
        for i in range(height):
            for j in range(width):
                found = 0
                for o in range(outputs):
                    value = error[n, i, j, o]
                    if value != 0:
                        channels[found] = o
                        own[found] = value
                        found += 1
                        places[o, counts[o]] = (n * rows + i * down) * length + j * right
                        factors[o, counts[o]] = value
                        counts[o] += 1
                        bias[o] += value
                found = _filled(channels, own, found)
                _spread(weight, below[n], i * down, j * right, channels, own, found)
    for o in range(outputs):
        count = _filled(places[o], factors[o], counts[o])
        _gather(x.reshape(-1), length, gradient[o], places[o], factors[o], count)
