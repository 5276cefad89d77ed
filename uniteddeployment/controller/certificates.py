"""The certificate of the webhooks: made by the first controller that starts, shared by all through a Secret.

API servers have to trust it, so its authority is written into the webhook configurations. A certificate that is about
to expire is made anew at a start.
"""

import base64
import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from uniteddeployment.kube.client import Client
from uniteddeployment.kube.errors import Conflict, KubeError, NotFound
from uniteddeployment.kube.meta import ObjectMeta
from uniteddeployment.kube.resource import SECRETS, Resource

VALIDITY = timedelta(days=365)
RENEWAL = timedelta(days=60)
CONFIGURATIONS = tuple(
    Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for plural, kind in (
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    )
)
_TRIES = 5


class CertificateError(Exception):
    """The webhooks cannot be served; one line that says why."""


class _Secret(msgspec.Struct):
    metadata: ObjectMeta
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.name})"


class _Webhook(msgspec.Struct, rename="camel"):
    client_config: dict[str, Any] = {}


class _Configuration(msgspec.Struct):
    webhooks: list[_Webhook] = []


@dataclass(frozen=True, slots=True)
class Serving:
    """A certificate with its key and the authority that signed it, all PEM."""

    authority: bytes
    certificate: bytes
    key: bytes = field(repr=False)

    def valid(self, name: str, now: datetime) -> bool:
        """Whether it is for this name and good for a while."""
        try:
            found = x509.load_pem_x509_certificate(self.certificate)
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, x509.ExtensionNotFound):
            return False
        return name in names.get_values_for_type(x509.DNSName) and found.not_valid_after_utc - now > RENEWAL


def make(name: str, now: datetime) -> Serving:
    """A new authority, and a certificate of it for a host name, with the extensions that strict clients ask for."""
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
        authority=authority.public_bytes(serialization.Encoding.PEM),
        certificate=certificate.public_bytes(serialization.Encoding.PEM),
        key=key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ),
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    """What a key is for: to sign certificates, or to prove who a server is."""
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


async def ensure(client: Client, namespace: str, service: str, *, configuration: str) -> Serving:
    """The certificate that all replicas serve with; also puts its authority into the webhook configurations.

    Raises CertificateError when the Secret cannot be had; a missing configuration is somebody's choice.
    """
    name = f"{service}.{namespace}.svc"
    try:
        serving = await _shared(client, namespace, service, name)
        for resource in CONFIGURATIONS:
            await _publish(client, resource, configuration, serving.authority)
    except KubeError as error:
        raise CertificateError(f"cannot set up the admission webhooks: {error}") from None
    return serving


async def _shared(client: Client, namespace: str, secret_name: str, name: str) -> Serving:
    for _ in range(_TRIES):
        secret = await client.get(SECRETS, secret_name, _Secret, namespace=namespace)
        data = {key: base64.b64decode(value) for key, value in secret.data.items()}
        known = Serving(data.get("ca.crt", b""), data.get("tls.crt", b""), data.get("tls.key", b""))
        now = datetime.now(UTC)
        if known.valid(name, now):
            return known
        fresh = make(name, now)
        values = {"ca.crt": fresh.authority, "tls.crt": fresh.certificate, "tls.key": fresh.key}
        patch = {
            "metadata": {"resourceVersion": secret.metadata.resource_version},
            "data": {key: base64.b64encode(value).decode() for key, value in values.items()},
        }
        with contextlib.suppress(Conflict):  # another replica was faster: take its certificate
            await client.merge_patch(SECRETS, secret_name, patch, _Secret, namespace=namespace)
            return fresh
    raise CertificateError(f"Secret {namespace}/{secret_name} changes too often")


async def _publish(client: Client, resource: Resource, name: str, authority: bytes) -> None:
    try:
        found = await client.get(resource, name, _Configuration)
    except NotFound:
        return
    bundle = base64.b64encode(authority).decode()
    operations = [
        {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": bundle}
        for index, webhook in enumerate(found.webhooks)
        if webhook.client_config.get("caBundle") != bundle
    ]
    if operations:
        await client.json_patch(resource, name, operations, _Configuration)


@contextlib.contextmanager
def as_files(serving: Serving) -> Iterator[tuple[Path, Path]]:
    """Certificate and key as files, which is how TLS libraries want them, for as long as the block runs."""
    with tempfile.TemporaryDirectory(prefix="ud-webhook-") as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        for path, content in ((certificate, serving.certificate), (key, serving.key)):
            path.touch(mode=0o600)
            path.write_bytes(content)
        yield certificate, key
