"""Free ports, and taken ones."""

import socket

import pytest

from flexcfl.errors import SettingsError
from flexcfl.flower.local import ports


def test_free_ports_are_different_and_can_be_had() -> None:
    found = ports.free(20)
    assert len(set(found)) == 20
    for port in found:
        ports.check_free(port)
        assert not ports.is_open(port)


def test_a_taken_port_is_refused_in_a_sentence() -> None:
    with socket.socket() as taken:
        taken.bind((ports.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert ports.is_open(port)
        with pytest.raises(SettingsError, match=rf"cannot have port {port} \(.+\): choose another"):
            ports.check_free(port)


def test_a_port_that_does_not_exist_is_refused_in_a_sentence() -> None:
    with pytest.raises(SettingsError, match="There is no port 70000"):
        ports.check_free(70000)
