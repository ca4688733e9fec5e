"""Certificates and node keys, so that no stranger can listen to a federation or join it.

The certificate authority signs one certificate, and its key is never written to disk.
"""

import argparse
import datetime
import ipaddress
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from flexcfl.errors import DiskError, FlexcflError, SettingsError

AUTHORITY, SERVER = (
    x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    for name in ("flexcfl throw-away authority", "flexcfl server")
)
# The address at which a SuperLink's own processes reach it if it listens everywhere (0.0.0.0).
LOOPBACK = "127.0.0.1"
DAY = datetime.timedelta(days=1)
MONTH = 30 * DAY
CENTURY = 36_500  # days
NOT_FOR = (
    *("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"),
    *("encipher_only", "decipher_only"),
)
NAME = re.compile(r"(?!-)[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*\.?")  # of a host


@dataclass(frozen=True)
class ServerCertificate:
    """The files of a SuperLink: nodes get a copy of ``ca``, and only the server has ``key``."""

    ca: Path
    certificate: Path
    key: Path


@dataclass(frozen=True)
class NodeKey:
    """The files of a SuperNode: the server gets a copy of ``public_key``."""

    key: Path
    public_key: Path


@dataclass(frozen=True)
class Certificates:
    """The files of a federation whose server and nodes trust one another."""

    server: ServerCertificate
    nodes: tuple[NodeKey, ...]


def make_certificates(
    folder: Path, hosts: Sequence[str], nodes: int, valid: datetime.timedelta = MONTH
) -> Certificates:
    """Make the certificates and keys of a server and its nodes.

    Args:
        folder: The folder for the files.
        hosts: The names or addresses under which nodes reach the server.
        nodes: The number of nodes.
        valid: How long the certificate is valid from now on. A negative time makes an expired one.

    """
    server = make_server_certificate(folder, hosts, valid)
    keys = [make_node_key(folder, f"node-{number}") for number in range(nodes)]
    return Certificates(server, tuple(keys))


def make_server_certificate(
    folder: Path, hosts: Sequence[str], valid: datetime.timedelta = MONTH
) -> ServerCertificate:
    """Make a certificate, with its authority, for a server that is reached under ``hosts``."""
    if not hosts:
        raise SettingsError("Say under which names or addresses nodes reach the server.")
    every = dict.fromkeys([*hosts, LOOPBACK])
    names = x509.SubjectAlternativeName([_alternative_name(host) for host in every])
    authority, server = _new_key(), _new_key()
    usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    files = ServerCertificate(folder / "ca.crt", folder / "server.crt", folder / "server.key")
    _write(files.key, _private_bytes(server, PrivateFormat.PKCS8), secret=True)
    _write(files.ca, _sign_certificate(AUTHORITY, authority, authority, valid))
    _write(files.certificate, _sign_certificate(SERVER, server, authority, valid, usage, names))
    return files


def make_node_key(folder: Path, name: str = "node") -> NodeKey:
    """Make the key by which a server recognises a node, as ``ssh-keygen -t ecdsa`` would."""
    key = _new_key()
    files = NodeKey(folder / f"{name}.key", folder / f"{name}.key.pub")
    _write(files.key, _private_bytes(key, PrivateFormat.OpenSSH), secret=True)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    _write(files.public_key, public + b"\n")
    return files


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP384R1())


def _alternative_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        if NAME.fullmatch(host):
            return x509.DNSName(host)
    raise SettingsError(
        f"'{host}' is neither the name nor the address of a host: give it without a port or "
        "'https://', such as server.example.org or 192.0.2.7."
    )


def _sign_certificate(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    valid: datetime.timedelta,
    *more: x509.ExtensionType,
) -> bytes:
    """Return a certificate signed by the authority, valid from yesterday in case clocks differ."""
    now = datetime.datetime.now(datetime.UTC)
    public, signs = key.public_key(), subject == AUTHORITY
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key())
    usage = dict.fromkeys(NOT_FOR, False) | {"key_cert_sign": signs, "crl_sign": signs}
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(AUTHORITY)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + valid) - DAY)
        .not_valid_after(now + valid)
        .add_extension(x509.BasicConstraints(signs, 0 if signs else None), critical=True)
        .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
    )
    for each in (x509.SubjectKeyIdentifier.from_public_key(public), issuer, *more):
        builder = builder.add_extension(each, critical=False)
    return builder.sign(authority, hashes.SHA384()).public_bytes(Encoding.PEM)


def _private_bytes(key: ec.EllipticCurvePrivateKey, form: PrivateFormat) -> bytes:
    return key.private_bytes(Encoding.PEM, form, NoEncryption())


def _write(path: Path, content: bytes, *, secret: bool = False) -> None:
    """Write a new file; an existing key is never replaced."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else 0o644)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
    except FileExistsError:
        raise SettingsError(
            f"'{path}' exists already and may be in use: name another folder, or remove it first."
        ) from None
    except OSError as error:
        raise DiskError.of(path, error.strerror) from None


def _days(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:9]) <= CENTURY:
        raise argparse.ArgumentTypeError(f"give a number of days from 1 to {CENTURY}")
    return int(text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the certificate of a server (``server FOLDER HOST...``) or a key (``node FOLDER``)."""
    parser = argparse.ArgumentParser(
        prog="python -m flexcfl.flower.certificates", description=main.__doc__
    )
    what = parser.add_subparsers(dest="what", required=True)
    server = what.add_parser("server", help="make a certificate and the authority that signs it")
    server.add_argument("folder", type=Path, help="the folder for the files")
    server.add_argument("hosts", nargs="+", metavar="HOST", help="a name or address of the server")
    server.add_argument("--days", type=_days, default=365, help="how long it is valid")
    node = what.add_parser("node", help="make a key by which the server recognises a node")
    node.add_argument("folder", type=Path, help="the folder for the files")
    node.add_argument("--name", default="node", help="the name of its files")
    given = parser.parse_args(arguments)
    try:
        if given.what == "server":
            make_server_certificate(given.folder, given.hosts, datetime.timedelta(days=given.days))
        else:
            make_node_key(given.folder, given.name)
    except FlexcflError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201  (this module is a command)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
