"""Certificates of one cluster: a CA, a server certificate and client certificates.

Contract: keys live in memory. They touch the disk only in a private temporary folder, while Python's TLS library reads
them.
"""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from uniteddeployment.embedded.http import Identity

LIFETIME: Final = timedelta(days=3650)
SKEW: Final = timedelta(days=1)
"""Certificates are backdated by this much, for clients whose clocks are slow."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its key, both PEM."""

    certificate: bytes
    key: bytes


def _name(common: str, organizations: tuple[str, ...] = ()) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Authority:
    """A certificate authority (CA) for one cluster."""

    def __init__(self, common: str) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(f"{common}-ca")
        builder = self._builder(self._name, self._key)
        usage = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=True,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
        )
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        builder = builder.add_extension(usage, critical=True)
        identifier = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def certificate(self) -> bytes:
        """The CA certificate (PEM), which clients trust."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - SKEW)
            .not_valid_after(now + LIFETIME)
        )

    def _sign(self, subject: x509.Name, purpose: x509.ObjectIdentifier, *extensions: x509.ExtensionType) -> KeyPair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(issuer, critical=False)
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), _pem(key))

    def server(self, *hosts: str) -> KeyPair:
        """A server certificate for these names and addresses."""
        names = x509.SubjectAlternativeName([_alternative(host) for host in dict.fromkeys(hosts)])
        return self._sign(_name(hosts[0]), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPair:
        """A client certificate for ``user`` in ``groups``."""
        return self._sign(_name(user, groups), ExtendedKeyUsageOID.CLIENT_AUTH)


def server_context(authority: Authority, pair: KeyPair) -> ssl.SSLContext:
    """The TLS context of a server; client certificates are optional."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    _load(context, pair)
    return context


def client_context(ca: bytes, pair: KeyPair | None = None) -> ssl.SSLContext:
    """The TLS context of a client that trusts one CA."""
    context = ssl.create_default_context(cadata=ca.decode())
    if pair is not None:
        _load(context, pair)
    return context


def _load(context: ssl.SSLContext, pair: KeyPair) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.pem"
        file.touch(mode=0o600)
        file.write_bytes(pair.key + pair.certificate)
        context.load_cert_chain(file)


def identity_of(certificate: Any) -> Identity | None:
    """The user of a verified client certificate: CN is the name, each O a group.

    ``certificate`` is the result of ``SSLSocket.getpeercert``.
    """
    if not certificate:
        return None
    parts = [pair for relative in certificate.get("subject", ()) for pair in relative]
    names = [value for field, value in parts if field == "commonName"]
    if not names:
        return None
    return Identity(names[0], tuple(value for field, value in parts if field == "organizationName"))
