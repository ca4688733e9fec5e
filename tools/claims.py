"""The claims of the paper compared with our tables: verdicts are computed from ``results``."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

from flexcfl.paper import published
from flexcfl.paper.catalogue import CLASSES, METHODS, ROWS, SHIFTS
from tools.runs import one, runs

__all__ = ["COMPARED", "Claim", "at", "claims", "label", "lost", "rows", "verdict"]

Cases = Mapping[str, bool]
Scored = Callable[[str], Cases]  # the argument is the score: best or final
POINT = 0.01
SAME = 0.001
SHOWN = ("fedprox", "fedavg", "ifca", "fesem", "flexcfl")
COMPARED = ("fedavg", "fedprox", "ifca", "fesem", "flexcfl", "flexcfl-eta0.1")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it holds by best and by final accuracy, and our figures."""

    says: str
    best: str
    final: str
    figures: str


def verdict(cases: Cases) -> str:
    """Return a text that says in which cases a claim holds.

    >>> verdict({"MNIST": True, "FEMNIST": False})
    'in 1 of 2, not on FEMNIST'
    """
    against = [name for name, holds in cases.items() if not holds]
    if len(against) in (0, len(cases)):
        return "no" if against else "yes"
    return f"in {len(cases) - len(against)} of {len(cases)}, not on {', '.join(against)}"


def rows() -> list[str]:
    """Return the rows of Tables 3 and 4 that have all rounds of the paper."""
    static, moving = runs("table3").rows(), runs("table4").rows()
    return [row for row in ROWS if row in static and f"{row}-{SHIFTS[-1]}" in moving]


def label(row: str) -> str:
    """Return the label of a row."""
    return ROWS[row].label.replace("Synthetic(1,1)-MCLR", "Synthetic")


def at(column: str, row: str, method: str, shift: str = "none") -> float:
    """Return a figure of Table 3 or, under a shift, of Table 4: the mean over the seeds."""
    return runs("table3" if shift == "none" else "table4").mean(column, row, method, shift)


def _known(row: str, methods: Sequence[str], shift: str) -> list[str]:
    return [name for name in methods if published.accuracy(row, name, shift) is not None]


def _bests(methods: Sequence[str], shift: str = "none") -> str:
    """Return best accuracies as text, with the paper's in brackets."""
    return "; ".join(
        f"{label(row)} " + ", ".join(
            f"{METHODS[name].short} {one(at('best', row, name, shift))}"
            f" ({published.accuracy(row, name, shift)})"
            for name in _known(row, methods, shift)
        )
        for row in rows()
    )  # fmt: skip


def _ahead(rivals: Sequence[str], shift: str = "none", method: str = "flexcfl") -> Scored:
    """Return the rows in which a method is ahead of each of its rivals."""
    return lambda column: {
        f"{label(row)} against {METHODS[rival].short}" if len(rivals) > 1 else label(row):
            at(column, row, method, shift) > at(column, row, rival, shift)
        for row in rows() for rival in _known(row, rivals, shift)
    }  # fmt: skip


def _by_row(holds: Callable[[str, str], bool]) -> Scored:
    return lambda column: {label(row): holds(column, row) for row in rows()}


def lost(column: str, row: str, method: str, shift: str, static: str | None = None) -> float:
    """Return the accuracy that a method loses under a shift, over the seeds of both tables.

    ``static`` is the method's name without a shift, if it differs.
    """
    before = runs("table3").figures(column, row, static or method)
    after = runs("table4").figures(column, row, method, shift)
    return fmean(old - new for old, new in zip(before, after, strict=False))


def _keeps(method: str, shift: str) -> Scored:
    """Return the rows in which a method loses less than a point under a shift."""
    return _by_row(lambda column, row: lost(column, row, method, shift) < POINT)


def _losses(shift: str, methods: Sequence[str]) -> str:
    """Return as text the points that methods lose under a shift in their best round, by row."""
    words = []
    for name in methods:
        points = [f"{100 * lost('best', row, name, shift):+z.1f}" for row in rows()]
        words.append(f"{METHODS[name].short} {', '.join(points)}")
    return "; ".join(words)


def _extreme(column: str, row: str, method: str, most: bool) -> bool:
    """Return whether a method has the highest or lowest figure of those compared."""
    of = max if most else min
    return method == of(COMPARED, key=lambda name: at(column, row, name))


def _figures(column: str, methods: Sequence[str]) -> str:
    words = []
    for row in rows():
        told = [f"{METHODS[name].short} {at(column, row, name):.3g}" for name in methods]
        words.append(f"{label(row)} {', '.join(told)}")
    return "; ".join(words)


def _claim(says: str, holds: Scored, figures: str) -> Claim:
    return Claim(says, verdict(holds("best")), verdict(holds("final")), figures)


def motivation() -> Claim:
    """Return Table 1: the more classes, the higher the accuracy and the smaller the discrepancy."""
    settings = [f"mnist-mclr-classes{classes}" for classes in CLASSES]
    means = {
        column: [runs("table1").mean(column, each, "fedavg") for each in settings]
        for column in ("best", "final", "discrepancy")
    }

    def holds(column: str) -> Cases:
        accuracy = all(less < more for less, more in pairwise(means[column]))
        smaller = all(more > less for more, less in pairwise(means["discrepancy"]))
        return {"accuracy": accuracy, "discrepancy": smaller}

    says = "the more classes a client has, the higher the accuracy and the smaller the discrepancy"
    told = ", ".join(map(one, means["best"])), ", ".join(f"{x:.3f}" for x in means["discrepancy"])
    figures = f"{', '.join(map(str, CLASSES))} classes: best {told[0]}; discrepancy {told[1]}"
    return _claim(f"{says} (Table 1)", holds, figures)


def static() -> Iterator[Claim]:
    """Yield the paper's claims about Table 3."""
    rivals = ("fedavg", "fedprox", "fesem")
    yield _claim("FlexCFL is better than FedAvg, FedProx and FeSEM", _ahead(rivals),
                 _bests(("flexcfl", *rivals)))  # fmt: skip
    yield _claim("FlexCFL is better than IFCA, except on Synthetic", _ahead(("ifca",)),
                 _bests(("flexcfl", "ifca")))  # fmt: skip
    yield _claim(
        "FeSEM is the last of FedAvg, FedProx, IFCA, FeSEM and FlexCFL, except on Synthetic",
        _by_row(lambda column, row: _extreme(column, row, "fesem", most=False)),
        _bests(("fesem", "fedavg")),
    )
    yield _claim("random centres (RCC) cost accuracy", _ahead(("flexcfl-rcc",)),
                 _bests(("flexcfl", "flexcfl-rcc")))  # fmt: skip
    yield _claim("random placement (RAC) falls below FedAvg",
                 _ahead(("flexcfl-rac",), method="fedavg"),
                 _bests(("flexcfl-rac", "fedavg")))  # fmt: skip
    yield _claim("FedProx has the lowest discrepancy",
                 _by_row(lambda _, row: _extreme("discrepancy", row, "fedprox", most=False)),
                 _figures("discrepancy", SHOWN))  # fmt: skip
    yield _claim("FedProx has the highest training loss",
                 _by_row(lambda _, row: _extreme("loss", row, "fedprox", most=True)),
                 _figures("loss", SHOWN))  # fmt: skip


def moving() -> Iterator[Claim]:
    """Yield the paper's claims about Table 4."""
    methods = ("fedgroup", "flexcfl")
    for shift in ("swap-all", "swap-part"):
        yield _claim(f"FlexCFL is better than FedGroup under {shift}",
                     _ahead(("fedgroup",), shift), _bests(methods, shift))  # fmt: skip
        yield _claim(
            f"FlexCFL loses less than a point under {shift}",
            _keeps("flexcfl", shift),
            f"points lost: {_losses(shift, ('flexcfl', 'ifca', 'fedavg'))}",
        )
        yield _claim(f"FlexCFL is better than FedAvg under {shift}",
                     _ahead(("fedavg",), shift), _bests(("flexcfl", "fedavg"), shift))  # fmt: skip
    yield _claim("IFCA falls below FedAvg under swap-all",
                 _ahead(("ifca",), "swap-all", "fedavg"),
                 _bests(("ifca", "fedavg"), "swap-all"))  # fmt: skip
    yield _claim(
        "FedAvg hardly notices the shifts: it loses or gains less than a point",
        lambda column: {
            f"{label(row)} under {shift}": abs(lost(column, row, "fedavg", shift)) < POINT
            for row in rows()
            for shift in SHIFTS
        },
        "; ".join(f"{shift}: {_losses(shift, ('fedavg',))}" for shift in SHIFTS),
    )
    yield _claim(
        "under incremental release FedGroup and FlexCFL are the same, within 0.1 points",
        _by_row(lambda column, row: abs(at(column, row, "fedgroup", "incremental")
                                        - at(column, row, "flexcfl", "incremental")) < SAME),
        _bests(methods, "incremental"),
    )  # fmt: skip
    yield _claim("sharing between groups (eta_g = 5) pays under swap-part on FEMNIST",
                 lambda column: {name: holds for name, holds in
                                 _ahead(("flexcfl",), "swap-part", "flexcfl-eta5")(column).items()
                                 if name.startswith("FEMNIST")},
                 _bests(("flexcfl-eta5", "flexcfl"), "swap-part"))  # fmt: skip


def claims() -> list[Claim]:
    """Return all claims of the paper."""
    return [motivation(), *static(), *moving()]
