"""Compiled loops over the mini-batches of one client, for stacks of Linear and ReLU layers.

The computation of a small model's step costs less than launching its operators one by one. Here a
client's whole training is a single call without the interpreter. Two loops do all the work, both
over the numbers of a row, which the compiler turns into vector instructions: products of rows
(``_products``), and a row that is scaled and added to (``_combine``). They take ``TILE`` examples
at once, so that each weight is loaded once for several examples.

Everything is in one file because of the way compiled functions are cached: see ``compiling``.
"""

import numpy as np
from numba import boolean, float32, float64, int64, njit, types

from flexcfl.engine.compiling import MATH, compiled

TILE = 5  # divides the usual batches; with two rows of weights it fills the vector registers

_Numbers = types.Array(float32, 1, "C")
_Examples = types.Array(float32, 2, "C")
_Whole = types.Array(int64, 1, "C")
_Rows = types.Array(int64, 2, "C")


@njit(fastmath=MATH, inline="always")
def _products(u, v, x0, x1, x2, x3, x4):
    """Return the products of two rows of weights with the five examples of a tile."""
    a0 = a1 = a2 = a3 = a4 = b0 = b1 = b2 = b3 = b4 = np.float32(0)
    for k in range(len(u)):
        a0 += u[k] * x0[k]
        a1 += u[k] * x1[k]
        a2 += u[k] * x2[k]
        a3 += u[k] * x3[k]
        a4 += u[k] * x4[k]
        b0 += v[k] * x0[k]
        b1 += v[k] * x1[k]
        b2 += v[k] * x2[k]
        b3 += v[k] * x3[k]
        b4 += v[k] * x4[k]
    return (a0, a1, a2, a3, a4), (b0, b1, b2, b3, b4)


@njit(fastmath=MATH, inline="always")
def _combine(row, keep, x0, x1, x2, x3, x4, c0, c1, c2, c3, c4):
    """Scale a row in place and add five others, each times its factor."""
    for k in range(len(row)):
        row[k] = keep * row[k] + (c0 * x0[k] + c1 * x1[k] + c2 * x2[k] + c3 * x3[k] + c4 * x4[k])


@njit(fastmath=MATH)
def _forward(weight, bias, inputs, places, outputs, rectified):
    """Write the outputs of one layer for the inputs at ``places``, a multiple of ``TILE``."""
    last = len(weight) - 1
    for t in range(0, len(places), TILE):
        x0, x1, x2 = inputs[places[t]], inputs[places[t + 1]], inputs[places[t + 2]]
        x3, x4 = inputs[places[t + 3]], inputs[places[t + 4]]
        for j in range(0, len(weight), 2):
            other = min(j + 1, last)
            one, two = _products(weight[j], weight[other], x0, x1, x2, x3, x4)
            for i in range(TILE):
                outputs[t + i, j] = one[i] + bias[j]
                outputs[t + i, other] = two[i] + bias[other]
    if rectified:
        for t in range(len(places)):
            for j in range(len(weight)):
                outputs[t, j] = max(outputs[t, j], np.float32(0))


@njit(fastmath=MATH)
def _update(weight, bias, inputs, places, errors, keep, keep_bias, rate):
    """Take one layer's step of SGD in place, from its inputs and the errors at its outputs."""
    for t in range(0, len(places), TILE):
        x0, x1, x2 = inputs[places[t]], inputs[places[t + 1]], inputs[places[t + 2]]
        x3, x4 = inputs[places[t + 3]], inputs[places[t + 4]]
        e0, e1, e2, e3, e4 = (
            errors[t],
            errors[t + 1],
            errors[t + 2],
            errors[t + 3],
            errors[t + 4],
        )
        kept = keep if t == 0 else np.float32(1)
        kept_bias = keep_bias if t == 0 else np.float32(1)
        for j in range(len(weight)):
            c0, c1, c2, c3, c4 = (
                -rate * e0[j],
                -rate * e1[j],
                -rate * e2[j],
                -rate * e3[j],
                -rate * e4[j],
            )
            _combine(weight[j], kept, x0, x1, x2, x3, x4, c0, c1, c2, c3, c4)
            bias[j] = kept_bias * bias[j] + (c0 + c1 + c2 + c3 + c4)


@njit(fastmath=MATH)
def _below(weight, errors, activations, below, count):
    """Write the errors of the layer below: errors times weights, or 0 if its output was 0."""
    last = len(weight) - 1
    for t in range(count):
        row = below[t]
        for k in range(len(row)):
            row[k] = 0
        for j in range(0, len(weight), TILE):
            k0, k1, k2 = j, min(j + 1, last), min(j + 2, last)
            k3, k4 = min(j + 3, last), min(j + 4, last)
            c0 = errors[t, k0]
            c1 = errors[t, k1] if j + 1 <= last else np.float32(0)
            c2 = errors[t, k2] if j + 2 <= last else np.float32(0)
            c3 = errors[t, k3] if j + 3 <= last else np.float32(0)
            c4 = errors[t, k4] if j + 4 <= last else np.float32(0)
            one = np.float32(1)
            _combine(
                row, one, weight[k0], weight[k1], weight[k2], weight[k3], weight[k4],
                c0, c1, c2, c3, c4,
            )  # fmt: skip
        for k in range(len(row)):
            if activations[t, k] <= 0:
                row[k] = 0


@njit(fastmath=MATH)
def _layer(vector, widths, index):
    """View the weights and biases of one layer inside a flat vector."""
    start = 0
    for each in range(index):
        start += widths[each + 1] * (widths[each] + 1)
    outputs, inputs = widths[index + 1], widths[index]
    middle = start + outputs * inputs
    weight = vector[start:middle].reshape((outputs, inputs))
    return weight, vector[middle : middle + outputs]


@njit(fastmath=MATH)
def _part(scratch, widths, index, rows):
    """View one layer's share of a scratch buffer: ``rows`` times its number of outputs."""
    start = 0
    for each in range(index):
        start += rows * widths[each + 1]
    return scratch[start : start + rows * widths[index + 1]].reshape((rows, widths[index + 1]))


@njit(fastmath=MATH)
def _outputs(vector, widths, x, places, positions, scratch):
    """Pass examples through all layers and return the logits; ``scratch`` holds all outputs."""
    layers, rows = len(widths) - 1, len(places)
    for index in range(layers):
        weight, bias = _layer(vector, widths, index)
        outputs = _part(scratch, widths, index, rows)
        if index == 0:
            _forward(weight, bias, x, places, outputs, layers > 1)
        else:
            inputs = _part(scratch, widths, index - 1, rows)
            _forward(weight, bias, inputs, positions[:rows], outputs, index < layers - 1)
    return _part(scratch, widths, layers - 1, rows)


@njit(fastmath=MATH)
def _padded(rows, count, places):
    """Return a copy of a batch's rows, padded to a multiple of ``TILE`` with its first row."""
    full = -(-count // TILE) * TILE
    for t in range(full):
        places[t] = rows[t] if t < count else rows[0]
    return places[:full]


@njit(fastmath=MATH)
def _exponentials(values, total):
    """Replace the first ``total`` numbers, none of them positive, by exp, in float32 precision.

    With ``v = n log 2 + r``, exp(r) is its Taylor series, and 2**n is set in the bits of the
    exponent. A call of the library's exp would keep the compiler from vectorising the loop.
    """
    for k in range(total):
        v = max(values[k], np.float32(-87))  # below, exp is smaller than any normal float32
        n = np.floor(v * np.float32(1.4426950408889634) + np.float32(0.5))
        r = v - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)  # log 2 in two parts
        series = np.float32(1)
        for i in (7, 6, 5, 4, 3, 2, 1):
            series = np.float32(1) + series * r * np.float32(1 / i)
        power = np.int32((np.int32(n) + np.int32(127)) << np.int32(23))
        values[k] = series * power.view(np.float32)


@njit(fastmath=MATH)
def _softmax(logits, shares, losses, y, places, count):
    """Write the class probabilities and the loss of each of the first ``count`` rows."""
    rows, classes = logits.shape
    for t in range(rows):
        most = logits[t, 0]
        for j in range(1, classes):
            most = max(most, logits[t, j])
        for j in range(classes):
            shares[t, j] = logits[t, j] - most
        losses[t] = -shares[t, y[places[t]]]
    _exponentials(shares.reshape(rows * classes), count * classes)
    for t in range(count):
        total = np.float32(0)
        for j in range(classes):
            total += shares[t, j]
        for j in range(classes):
            shares[t, j] /= total
        losses[t] += np.log(total)


@njit(fastmath=MATH)
def _step(vector, widths, x, y, places, count, room, factors):
    """Take one step in place and return the mean loss of its batch before it."""
    outputs, errors, losses, positions = room
    rate, keep, keep_bias = factors
    layers, rows = len(widths) - 1, len(places)
    logits = _outputs(vector, widths, x, places, positions, outputs)
    top = _part(errors, widths, layers - 1, rows)
    _softmax(logits, top, losses, y, places, count)
    loss = np.float32(0)
    for t in range(rows):
        here = np.float32(1 / count) if t < count else np.float32(0)  # 0 for padding rows
        loss += here * losses[t]
        top[t, y[places[t]]] -= 1
        for j in range(top.shape[1]):
            top[t, j] *= here
    for index in range(layers - 1, -1, -1):
        weight, bias = _layer(vector, widths, index)
        error = _part(errors, widths, index, rows)
        if index == 0:
            _update(weight, bias, x, places, error, keep, keep_bias, rate)
        else:
            inputs = _part(outputs, widths, index - 1, rows)
            # The errors below need this layer's weights from before the update.
            _below(weight, error, inputs, _part(errors, widths, index - 1, rows), rows)
            _update(weight, bias, inputs, positions[:rows], error, keep, keep_bias, rate)
    return loss


_SCRATCH = (_Numbers, _Numbers, _Numbers, _Numbers, _Whole, _Whole)
_TRAIN = float64(
    _Numbers, _Numbers, _Whole, _Examples, _Whole, _Rows, _Whole, _Numbers,
    float64, float64, float64, types.Tuple(_SCRATCH),
)  # fmt: skip


@compiled(_TRAIN)
def train(update, start, widths, x, y, rows, counts, closing, rate, l2, prox, scratch):
    """Train one client from ``start``, write its update and return its closing loss.

    ``widths`` are those of the layers from the inputs to the classes; at step ``t`` the client
    visits ``rows[t, :counts[t]]`` of the examples ``x`` with labels ``y``. ``scratch`` is made by
    ``flexcfl.engine.compiled``.
    """
    model, outputs, errors, losses, places, positions = scratch
    keep_bias = 1 - rate * prox
    keep = keep_bias - 2 * rate * l2
    factors = (np.float32(rate), np.float32(keep), np.float32(keep_bias))
    room = (outputs, errors, losses, positions)
    pull, total = np.float32(rate * prox), 0.0
    for k in range(len(start)):
        model[k] = start[k]
    for t in range(len(counts)):
        batch = _padded(rows[t], counts[t], places)
        loss = _step(model, widths, x, y, batch, counts[t], room, factors)
        if pull != 0:
            for k in range(len(start)):
                model[k] += pull * start[k]
        total += closing[t] * loss
    for k in range(len(start)):
        update[k] = model[k] - start[k]
    return total


_EVALUATE = types.void(
    _Examples, _Whole, _Whole, _Examples, _Whole, _Whole, types.Array(float64, 1, "C"),
    types.Array(boolean, 1, "C"), types.Tuple(_SCRATCH),
)  # fmt: skip


@compiled(_EVALUATE)
def evaluate(models, model_of, widths, x, y, rows, losses, hits, scratch):
    """Write the loss of every row under its model, and whether its label has the largest logit."""
    _, outputs, errors, found, places, positions = scratch
    first = 0
    while first < len(rows):
        count = 1
        while (
            count < len(places)
            and first + count < len(rows)
            and model_of[first + count] == model_of[first]
        ):
            count += 1
        tile = _padded(rows[first : first + count], count, places)
        logits = _outputs(models[model_of[first]], widths, x, tile, positions, outputs)
        shares = _part(errors, widths, len(widths) - 2, len(tile))
        _softmax(logits, shares, found, y, tile, count)
        for t in range(count):
            losses[first + t] = found[t]
            best = 0
            for j in range(1, logits.shape[1]):
                if logits[t, j] > logits[t, best]:
                    best = j
            hits[first + t] = best == y[tile[t]]
        first += count
