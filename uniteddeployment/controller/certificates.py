"""Creates certificates for the webhooks, and checks whether they are valid."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from uniteddeployment.kube.credentials import as_file

VALIDITY = timedelta(days=365)
RENEWAL = timedelta(days=60)
"""A certificate is replaced this long before it expires."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A certificate with its key, and the authorities that clients have to trust; all in PEM."""

    authorities: bytes
    certificate: bytes
    key: bytes = field(repr=False)

    def valid(self, name: str, now: datetime) -> bool:
        """Whether it is for this name, does not expire soon, and its key, certificate and authority belong together."""
        try:
            certificate = x509.load_pem_x509_certificate(self.certificate)
            names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
            key = serialization.load_pem_private_key(self.key, None)
        except (ValueError, TypeError, x509.ExtensionNotFound):
            return False
        return (
            name in names.get_values_for_type(x509.DNSName)
            and certificate.not_valid_after_utc - now > RENEWAL
            and key.public_key() == certificate.public_key()
            and any(_signed(certificate, authority) for authority in _certificates(self.authorities))
        )

    @property
    def expires(self) -> datetime:
        """The time of its expiry."""
        return x509.load_pem_x509_certificate(self.certificate).not_valid_after_utc

    def context(self) -> ssl.SSLContext:
        """The TLS settings of a server with this certificate."""
        made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        with as_file(self.certificate + b"\n" + self.key) as path:
            made.load_cert_chain(path)
        return made


def _certificates(pem: bytes) -> Sequence[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem)
    except ValueError:
        return ()


def _signed(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def renewed(name: str, now: datetime, previous: bytes = b"") -> Serving:
    """A new certificate, with the authority of the previous one if it is still valid.

    Replicas load a new certificate one after the other, and clients have to trust both meanwhile.
    """
    fresh = make(name, now)
    kept = [authority for authority in _certificates(previous) if authority.not_valid_after_utc > now][:1]
    older = b"".join(authority.public_bytes(serialization.Encoding.PEM) for authority in kept)
    return Serving(fresh.authorities + older, fresh.certificate, fresh.key)


def make(name: str, now: datetime) -> Serving:
    """A new authority with a certificate for a host name, with the extensions that strict clients require."""
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "uniteddeployment-webhook-ca")])
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key())
    authority = (
        _builder(authority_name, authority_name, authority_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])
    certificate = (
        _builder(subject, authority_name, key, now)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Serving(
        authorities=authority.public_bytes(serialization.Encoding.PEM),
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    """The usage of a key: to sign certificates, or to authenticate a server."""
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + VALIDITY)
    )
