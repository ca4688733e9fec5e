"""The certificates are what TLS libraries and Flower take, and secrets are the owner's alone."""

import socket
import ssl
import stat
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("flwr")

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_ssh_private_key, load_ssh_public_key

from flexcfl.errors import DiskError, SettingsError
from flexcfl.flower.certificates import (
    ServerCertificate,
    main,
    make_certificates,
    make_node_key,
    make_server_certificate,
)


def shaken(files: ServerCertificate, name: str, ca: Path) -> str | None:
    """Return what a client makes of a server of that name: None if it trusts it, or the reason."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.certificate, files.key)
    client = ssl.create_default_context(cafile=str(ca))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    here, there = socket.socketpair()

    def answer() -> None:
        try:
            server.wrap_socket(there, server_side=True).close()
        except (ssl.SSLError, OSError):
            there.close()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        client.wrap_socket(here, server_hostname=name).close()
    except ssl.SSLCertVerificationError as error:
        return error.verify_message
    finally:
        here.close()
        thread.join()
    return None


@pytest.mark.parametrize("name", ["server.example.org", "192.0.2.7", "2001:db8::7", "127.0.0.1"])
def test_a_server_is_trusted_under_each_of_its_names_and_on_its_own_machine(
    tmp_path: Path, name: str
) -> None:
    files = make_server_certificate(tmp_path, ["server.example.org", "192.0.2.7", "2001:db8::7"])
    assert shaken(files, name, files.ca) is None


def test_a_server_is_not_trusted_under_another_name_or_by_those_who_trust_another(
    tmp_path: Path,
) -> None:
    files, other = (make_server_certificate(tmp_path / each, ["localhost"]) for each in "ab")
    assert "mismatch" in str(shaken(files, "server.example.org", files.ca))
    assert shaken(files, "localhost", other.ca) is not None


def test_a_certificate_is_valid_for_so_long_and_no_longer(tmp_path: Path) -> None:
    files = make_server_certificate(tmp_path, ["localhost"], timedelta(minutes=-1))
    assert shaken(files, "localhost", files.ca) == "certificate has expired"


def test_nodes_have_keys_as_flower_reads_them(tmp_path: Path) -> None:
    made = make_certificates(tmp_path, ["localhost"], 2)
    assert len(set(made.nodes)) == 2
    for node in made.nodes:
        key = load_ssh_private_key(node.key.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        assert key.public_key() == load_ssh_public_key(node.public_key.read_bytes())
        assert isinstance(key.curve, ec.SECP384R1)


def test_nobody_else_can_read_a_private_key_and_that_of_the_authority_is_not_kept(
    tmp_path: Path,
) -> None:
    made = make_certificates(tmp_path, ["localhost"], 2)
    private = [path for path in tmp_path.iterdir() if b"PRIVATE" in path.read_bytes()]
    assert sorted(private) == sorted([made.server.key, *(node.key for node in made.nodes)])
    assert {stat.S_IMODE(path.stat().st_mode) for path in private} == {0o600}


def test_a_key_is_never_replaced(tmp_path: Path) -> None:
    made = make_certificates(tmp_path, ["localhost"], 1)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(SettingsError, match=r"'.*server.key' exists already"):
        make_certificates(tmp_path, ["localhost"], 1)
    with pytest.raises(SettingsError, match="name another folder"):
        make_node_key(tmp_path, "node-0")
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert made.server.key in before


@pytest.mark.parametrize("host", ["", "server:8000", "https://server", "-x", "a b", "dömäne"])
def test_what_is_no_host_is_refused_before_anything_is_written(tmp_path: Path, host: str) -> None:
    with pytest.raises(SettingsError, match="neither the name nor the address of a host"):
        make_server_certificate(tmp_path / "new", ["localhost", host])
    assert not (tmp_path / "new").exists()


def test_a_server_without_a_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="under which names"):
        make_server_certificate(tmp_path, [])


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DiskError, match="cannot be written"):
        make_node_key(tmp_path / "file" / "keys")


def test_the_command_makes_the_files_of_a_server_and_of_a_node(tmp_path: Path) -> None:
    assert main(["server", str(tmp_path), "localhost", "--days", "2"]) == 0
    assert main(["node", str(tmp_path), "--name", "mine"]) == 0
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["ca.crt", "mine.key", "mine.key.pub", "server.crt", "server.key"]


def test_the_command_says_a_mistake_in_one_sentence(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flexcfl.flower.certificates", "server", str(tmp_path), "a b"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: 'a b' is neither")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("days", ["0", "-1", "nan", "1e9", "9" * 5_000, "36501"])
def test_a_time_that_cannot_be_is_refused(tmp_path: Path, days: str) -> None:
    with pytest.raises(SystemExit):
        main(["server", str(tmp_path / "new"), "localhost", f"--days={days}"])
    assert not (tmp_path / "new").exists()
