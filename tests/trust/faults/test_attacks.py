"""What attackers make of their answers."""

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
import pytest

from flexcfl.protocol import Flags, Trained
from flexcfl.trust.faults import ATTACKS, Attack, Drag, LabelFlip, Noise, SignFlip
from tests.record.checkpoints.interrupted import check_values
from tests.trust.faults.honest import Honest, behaviour, ids, orders, received, train, updates

EVERYBODY = np.arange(40)
KINDS_OF_ORDER = sorted(orders(EVERYBODY))
UPDATES = ["follow", "found", "train", "train-choosing"]


def hostile(attack: Attack) -> Flags:
    flags = behaviour(attack=attack).roles.hostile
    assert flags.sum() == 8
    return flags


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("kind", KINDS_OF_ORDER)
def test_attackers_alter_nothing_but_their_own_answers(name: str, kind: str) -> None:
    attack = ATTACKS[name].attack()
    sent = received(behaviour(attack=attack), orders(EVERYBODY)[kind]).reply
    honest, fine = Honest(1)(orders(EVERYBODY)[kind]), ~hostile(attack)
    for each in fields(honest):
        own, true = getattr(sent, each.name), getattr(honest, each.name)
        assert (own.dtype, own.shape) == (true.dtype, true.shape)
        np.testing.assert_array_equal(own[fine], true[fine])


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("kind", sorted(set(KINDS_OF_ORDER) - {"found"}))
def test_an_attack_depends_on_seed_round_and_client_alone(name: str, kind: str) -> None:
    attack = ATTACKS[name].attack()
    world = behaviour(attack=attack)
    whole = received(world, orders(EVERYBODY)[kind]).reply
    for asked in (EVERYBODY[::-1], EVERYBODY[::3], np.flatnonzero(hostile(attack))):
        part = received(world, orders(asked)[kind]).reply
        for each in fields(part):
            np.testing.assert_array_equal(
                getattr(part, each.name), getattr(whole, each.name)[asked]
            )


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("kind", KINDS_OF_ORDER)
def test_honest_work_is_not_changed_under_the_hands_of_those_who_did_it(
    name: str, kind: str
) -> None:
    attack, own = ATTACKS[name].attack(), np.flatnonzero(hostile(ATTACKS[name].attack()))
    for asked in (EVERYBODY, own):
        held, before = (Honest(1)(orders(asked)[kind]) for _ in range(2))
        behaviour(attack=attack).at(1, lambda order: held)(orders(asked)[kind])  # noqa: B023
        check_values(held, before)


@pytest.mark.parametrize("name", ATTACKS)
def test_what_is_not_finite_or_beyond_float32_is_no_reason_to_stop(name: str) -> None:
    attack = ATTACKS[name].attack()
    large = np.array([[3e38], [np.nan], [np.inf], [0]], dtype=np.float32) * np.ones(6, np.float32)
    clients = np.arange(4)
    honest = Trained(clients, large, clients, clients / 10, clients * 0)
    for purpose in ("training", "cold-start"):
        sent = attack.altered(train(clients, purpose), honest, 1, 0)
        assert sent.updates.dtype == np.float32


@pytest.mark.parametrize("kind", UPDATES)
def test_sign_flippers_send_the_opposite(kind: str) -> None:
    attack = SignFlip(scale=2.5)
    sent = received(behaviour(attack=attack), orders(EVERYBODY)[kind]).reply
    own = hostile(attack)
    np.testing.assert_allclose(sent.updates[own], -2.5 * updates(EVERYBODY, 1)[own], rtol=1e-6)


def test_noise_is_gaussian_and_goes_by_the_length_of_the_update() -> None:
    rng, clients, attack = np.random.default_rng(0), ids(3, 1, 2), Noise(scale=4.0)
    true = rng.normal(size=(3, 20_000)).astype(np.float32) * np.array([[1], [5], [0]], np.float32)
    honest = Trained(clients, true, clients, clients / 10, clients * 0)
    sent = attack.altered(train(clients), honest, 1, 0).updates
    lengths, true_lengths = np.linalg.norm(sent, axis=1), np.linalg.norm(true, axis=1)
    np.testing.assert_allclose(lengths, 4 * true_lengths, rtol=0.05)
    shape = sent[0] / sent[0].std()
    assert abs(shape.mean()) < 0.05
    assert abs((np.abs(shape) < 1).mean() - 0.6827) < 0.02
    for other in (sent[1], true[0]):
        assert abs(np.corrcoef(sent[0], other)[0, 1]) < 0.05
    for number, purpose in ((2, "training"), (1, "cold-start")):
        again = attack.altered(train(clients, purpose), honest, number, 0).updates  # type: ignore[arg-type]
        assert abs(np.corrcoef(sent[0], again[0])[0, 1]) < 0.05


@pytest.mark.parametrize("kind", KINDS_OF_ORDER)
def test_label_flippers_send_what_they_learn(kind: str) -> None:
    order = orders(EVERYBODY)[kind]
    check_values(received(behaviour(attack=LabelFlip()), order).reply, Honest(1)(order))
    assert [name for name, each in ATTACKS.items() if each.attack.poisons] == ["label-flip"]


@pytest.mark.parametrize("group", [0, 2])
def test_draggers_claim_their_group_whenever_they_may_choose(group: int) -> None:
    attack = Drag(group=group)
    world, own = behaviour(attack=attack), hostile(attack)
    for kind in ("place", "migrate"):
        placed = received(world, orders(EVERYBODY)[kind]).reply
        assert set(placed.group_of[own]) == {group}
    for kind in ("choose", "train-choosing"):
        chosen = received(world, orders(EVERYBODY)[kind]).reply
        assert set(chosen.model_of[own]) == {group}
    given = received(world, train(EVERYBODY)).reply
    assert given.model_of.tolist() == train(EVERYBODY).model_of.tolist()  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["train", "train-choosing", "follow"])
def test_draggers_push_one_way_as_far_as_they_were_to_go(kind: str) -> None:
    attack = Drag(scale=3.0)
    world, own = behaviour(attack=attack), np.flatnonzero(hostile(attack))
    pushed = np.concatenate(
        [received(world, orders(own)[kind], number).reply.updates for number in (1, 2)]
    )
    true = np.concatenate([updates(own, number) for number in (1, 2)])
    lengths = np.linalg.norm(pushed, axis=1)
    np.testing.assert_allclose(lengths, 3 * np.linalg.norm(true, axis=1), rtol=1e-5)
    ways = pushed / lengths[:, np.newaxis]
    np.testing.assert_allclose(ways, np.tile(ways[0], (len(ways), 1)), atol=1e-6)
    other = received(behaviour(attack=attack, seed=6), orders(EVERYBODY)[kind]).reply.updates
    assert not np.allclose(other[np.argmax(np.abs(other).sum(axis=1))] / lengths[0], ways[0])


def test_draggers_found_as_if_they_were_one() -> None:
    attack = Drag()
    own = np.flatnonzero(hostile(attack))
    asked = np.concatenate([[0, 1], own[[3, 1, 6]], [39]])
    sent = received(behaviour(attack=attack), train(asked, "cold-start")).reply
    first = updates(own[[3]], 1)[0]
    for row, client in enumerate(asked):
        expected = first if client in own else updates(ids(client), 1)[0]
        np.testing.assert_array_equal(sent.updates[row], expected)


def test_an_attack_of_ones_own() -> None:
    class Liar:
        poisons: ClassVar[bool] = False

        def number(self, clients: int) -> int:
            return clients // 4

        def altered(self, order: Any, reply: Any, number: int, seed: int) -> Any:
            return type(reply)(reply.clients, ~reply.drifted)

    world = behaviour(attack=Liar())
    told = received(world, orders(EVERYBODY)["check"]).reply.drifted
    assert np.array_equal(told != (EVERYBODY % 2 == 0), world.roles.hostile)
    assert world.roles.hostile.sum() == 10
