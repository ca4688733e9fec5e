"""Free ports, and taken ones."""

import socket

import pytest

from flexcfl.errors import SettingsError
from flexcfl.flower.local.programs import HOST, check_free_port, free_port, is_open


def test_a_free_port_can_be_had() -> None:
    port = free_port()
    check_free_port(port)
    assert not is_open(port)


def test_a_taken_port_is_refused_in_a_sentence() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert is_open(port)
        with pytest.raises(SettingsError, match=rf"cannot have port {port} \(.+\): choose another"):
            check_free_port(port)


def test_a_port_that_does_not_exist_is_refused_in_a_sentence() -> None:
    with pytest.raises(SettingsError, match="There is no port 70000"):
        check_free_port(70000)
