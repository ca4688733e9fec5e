"""Promises that are broken are noticed, each by the check that is for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from flexcfl.algorithms import AlgorithmEntry, FedAvg
from flexcfl.algorithms.options import NoOptions
from flexcfl.data import Federation, Iid
from flexcfl.errors import SettingsError
from flexcfl.protocol import Conversation, Flags, Ids, Initial, Local, Serving, Train, ask
from flexcfl.shifts import Holdings, Moment
from flexcfl.shifts.detection import LabelShare, Samples
from flexcfl.testing import checks

Rng = np.random.Generator


@dataclass(frozen=True)
class Broken(FedAvg):
    """FedAvg with a round of which something is wrong."""

    wrong: Callable[[Serving, Any], Serving] = lambda state, trained: state
    after: Callable[[Serving, Ids], Serving] = lambda state, cohort: state
    to: Callable[[Ids, Flags], Ids] = lambda cohort, present: cohort

    def round(self, state: Serving, cohort: Ids, present: Flags, rng: Rng) -> Conversation[Serving]:
        asked = self.to(cohort, present)
        trained = yield from ask(Train(asked, state.models, state.model_of[asked], self.local))
        return self.after(self.wrong(state, trained), cohort)


@dataclass(frozen=True)
class SameStart(FedAvg):
    def start(self, initial: Initial, present: Flags, rng: Rng) -> Conversation[Serving]:
        yield from ()
        models = np.ones((1, 3), dtype=np.float32)
        return Serving(models, np.zeros(len(present), dtype=np.int64))


@dataclass(frozen=True)
class Halves(FedAvg):
    """FedAvg in two phases, in both of which the same half of the cohort trains."""

    def round(self, state: Serving, cohort: Ids, present: Flags, rng: Rng) -> Conversation[Serving]:
        state = yield from super().round(state, cohort[:2], present, rng)
        return (yield from super().round(state, cohort[:2], present, rng))


@dataclass(frozen=True)
class BareState:
    """A state that does not say of which numbers its models are."""

    models: np.ndarray
    model_of: Ids


@dataclass(frozen=True)
class Bare:
    """FedAvg with a state of its own, which no checkpoint gives back."""

    local: Local

    def start(self, initial: Initial, present: Flags, rng: Rng) -> Conversation[BareState]:
        served = yield from FedAvg(self.local).start(initial, present, rng)
        return BareState(served.models, served.model_of)

    def round(
        self, state: BareState, cohort: Ids, present: Flags, rng: Rng
    ) -> Conversation[BareState]:
        served = self.serving(state)
        served = yield from FedAvg(self.local).round(served, cohort, present, rng)
        return BareState(served.models, served.model_of)

    def serving(self, state: BareState) -> Serving:
        return Serving(state.models, state.model_of)


def by_chance(state: Serving, trained: Any) -> Serving:
    noise = np.random.default_rng().normal(size=state.models.shape)
    return replace(state, models=state.models + noise.astype(np.float32))


def in_place(state: Serving, trained: Any) -> Serving:
    state.models[:] += 1
    return state


def double(state: Serving, trained: Any) -> Serving:
    wide: Any = state.models.astype(np.float64) + 1
    return replace(state, models=wide)


def counting_the_silent(state: Serving, cohort: Ids) -> Serving:
    return replace(state, models=state.models + np.float32(len(cohort)))


def needing_an_answer(state: Serving, trained: Any) -> Serving:
    return replace(state, models=state.models + trained.updates.max(axis=0))


def no_such_model(state: Serving, trained: Any) -> Serving:
    return replace(state, model_of=state.model_of + 1)


def entry(make: Callable[..., Any], **given: Any) -> AlgorithmEntry:
    return AlgorithmEntry("broken", lambda options, local: make(local, **given), options=NoOptions)


BROKEN: Mapping[str, tuple[str, object, str]] = {
    "chance": ("algorithm", entry(Broken, wrong=by_chance), "the same seed"),
    "one start": ("algorithm", entry(SameStart), "another seed starts elsewhere"),
    "idle": ("algorithm", entry(Broken), "training moves the models"),
    "in place": ("algorithm", entry(Broken, wrong=in_place), "leaves the old one alone"),
    "float64": ("algorithm", entry(Broken, wrong=double), "finite float32 models"),
    "no such model": ("algorithm", entry(Broken, wrong=no_such_model), "finite float32 models"),
    "not the cohort": (
        "algorithm",
        entry(Broken, to=lambda cohort, present: cohort[:1]),
        "trains the cohort",
    ),
    "clients that have not arrived": (
        "algorithm",
        entry(Broken, to=lambda cohort, present: np.arange(len(present))),
        "clients that have arrived",
    ),
    "no answers": ("algorithm", entry(Broken, wrong=needing_an_answer), "survives silence"),
    "silent": ("algorithm", entry(Broken, after=counting_the_silent), "have no influence"),
    "two phases of half a cohort": (
        "algorithm",
        entry(Halves),
        "trains the cohort",
    ),
    "a bare array": ("algorithm", entry(Bare), "saved between any two rounds"),
    "full stop": (
        "algorithm",
        AlgorithmEntry("Something.", lambda options, local: FedAvg(local)),
        "summary",
    ),
}


@dataclass(frozen=True)
class Alarmist(LabelShare):
    def drifted(self, kept: Any, now: Any) -> Any:
        return np.ones(len(kept), dtype=np.bool_)


@dataclass(frozen=True)
class Deaf(LabelShare):
    def drifted(self, kept: Any, now: Any) -> Any:
        return np.zeros(len(kept), dtype=np.bool_)


@dataclass(frozen=True)
class Gossip(LabelShare):
    def drifted(self, kept: Any, now: Any) -> Any:
        return np.full(len(kept), bool((kept != now).any()))


@dataclass(frozen=True)
class Unexplained:
    """It has an option and says nothing of it."""

    secret: float = 1.0

    def profiles(self, samples: Samples) -> Any:
        return LabelShare().profiles(samples)

    def drifted(self, kept: Any, now: Any) -> Any:
        return LabelShare().drifted(kept, now)


@dataclass(frozen=True)
class Still:
    """It does nothing to anybody at all."""

    variants = False

    def check(self, federation: Federation) -> None: ...

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        return holdings


@dataclass(frozen=True)
class Hasty(Still):
    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        return holdings.owned((holdings.owner + 1) % moment.clients)


@dataclass(frozen=True)
class Moody(Still):
    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        if not len(moment.visited):
            return holdings
        return holdings.owned(np.random.default_rng().permutation(moment.clients)[holdings.owner])


@dataclass(frozen=True)
class Forgetful(Still):
    calls: list[int] = field(default_factory=list, compare=False, repr=False)

    def apply(self, holdings: Holdings, moment: Moment) -> Holdings:
        self.calls.append(moment.number)
        turn = len(moment.visited) and len(self.calls) % 3 == 0
        return holdings.owned((holdings.owner + 1) % moment.clients) if turn else holdings


@dataclass(frozen=True)
class Greedy(Iid):
    def lists(self, labels: Ids, clients: int, rng: Rng) -> list[Ids]:
        return [np.arange(len(labels))] * clients


@dataclass(frozen=True)
class Stingy(Iid):
    def lists(self, labels: Ids, clients: int, rng: Rng) -> list[Ids]:
        return [np.arange(len(labels)), *[labels[:0]] * (clients - 1)]


@dataclass(frozen=True)
class Fickle(Iid):
    def lists(self, labels: Ids, clients: int, rng: Rng) -> list[Ids]:
        return super().lists(labels, clients, np.random.default_rng())


@dataclass(frozen=True)
class Meddling(Iid):
    def lists(self, labels: Ids, clients: int, rng: Rng) -> list[Ids]:
        labels.sort()
        return super().lists(labels, clients, rng)


OTHERS: Sequence[tuple[str, type, str]] = [
    ("detector", Alarmist, "identical data never drift"),
    ("detector", Deaf, "a change of everything"),
    ("detector", Gossip, "by its own data alone"),
    ("detector", Unexplained, "options are explained"),
    ("shift", Hasty, "before it is visited"),
    ("shift", Moody, "seed and round alone"),
    ("shift", Forgetful, "from a snapshot"),
    ("partition", Greedy, "examples of its own"),
    ("partition", Stingy, "every client has examples"),
    ("partition", Fickle, "draws alone"),
    ("partition", Meddling, "leaves the labels alone"),
]
ALL = {**BROKEN, **{thing.__name__: (kind, thing, what) for kind, thing, what in OTHERS}}


@pytest.mark.parametrize("name", ALL)
def test_a_broken_promise_is_noticed(name: str) -> None:
    kind, thing, promise = ALL[name]
    (check,) = [each for each in checks(kind, thing) if promise in each.name]
    # Some fail before the check itself does.
    with pytest.raises((AssertionError, ValueError, TypeError, IndexError)):
        check()


def test_a_promise_says_what_is_wrong() -> None:
    (check,) = [each for each in checks("detector", Alarmist) if "identical" in each.name]
    assert str(check) == "identical data never drift"
    with pytest.raises(AssertionError, match="Data that did not change are reported as drift"):
        check()


@pytest.mark.parametrize(
    ("kind", "thing", "sentence"),
    [
        ("algorithms", "fedavg", "no kind of thing to check 'algorithms': did you mean 'algorit"),
        ("shift", "swap-al", "There is no shift 'swap-al': did you mean 'swap-all'"),
        ("detector", "nowhere:Thing", "could not be imported"),
    ],
)
def test_an_unknown_kind_or_thing_is_an_error(kind: str, thing: str, sentence: str) -> None:
    with pytest.raises(SettingsError, match=sentence):
        checks(kind, thing)


def test_another_object_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"must be a flexcfl\.algorithms\.AlgorithmEntry"):
        checks("algorithm", object)
