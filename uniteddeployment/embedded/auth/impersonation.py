"""Impersonation: requests that are answered on behalf of another user.

Contract: the modes of 1.36, in order. The constrained modes require ``impersonate-on:MODE:VERB`` on the resource of the
request and ``impersonate:MODE`` on the user. Then the legacy mode requires ``impersonate`` on user, groups, uid and
extra. The client sees the refusal of the first mode that was tried, which is the mode that last succeeded for the user.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import unquote

from cachetools import LRUCache

from uniteddeployment.embedded.auth import users
from uniteddeployment.embedded.auth.attributes import Attributes, forbidden
from uniteddeployment.embedded.auth.rbac import Decision
from uniteddeployment.embedded.errors import StatusError, bad_request
from uniteddeployment.embedded.http import Identity

USER: Final = "impersonate-user"
GROUP: Final = "impersonate-group"
UID: Final = "impersonate-uid"
EXTRA: Final = "impersonate-extra-"
AUTHENTICATION: Final = "authentication.k8s.io"

MANY_GROUPS: Final = 4
"""From this number of groups on, a constrained mode first asks for all groups at once."""

Decide = Callable[[Identity, Attributes], Decision]


def wanted(headers: Mapping[str, str]) -> Identity | None:
    """The user that the impersonation headers name; None without them. Raises StatusError (400) if the name is
    missing.
    """
    for header in headers:
        if header.startswith("impersonate-"):
            break
    else:
        return None
    name, uid = headers.get(USER, ""), headers.get(UID, "")
    groups = _values(headers.get(GROUP, ""))
    extra = tuple(
        (unquote(header.removeprefix(EXTRA)), _values(value))
        for header, value in sorted(headers.items())
        if header.startswith(EXTRA)
    )
    if not name:
        if uid or groups or extra:
            shown = _as_go_prints(uid, groups, extra)
            raise bad_request(f"requested {shown} without impersonating a user name")
        return None
    return Identity(name, groups, uid, extra)


def _values(header: str) -> tuple[str, ...]:
    """The values of a header that may be repeated."""
    return tuple(value.strip() for value in header.split(",") if value.strip())


def _as_go_prints(uid: str, groups: Sequence[str], extra: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The requested user as the real server's message prints it."""

    def strings(values: Sequence[str]) -> str:
        return f"[]string{{{', '.join(map(json.dumps, values))}}}" if values else "[]string(nil)"

    pairs = ", ".join(f"{json.dumps(key)}:{strings(values)}" for key, values in extra)
    shown = f"map[string][]string{{{pairs}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{json.dumps(uid)}, Groups:{strings(groups)}, Extra:{shown}}}'


class Impersonation:
    """Decides who may impersonate whom."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._last: LRUCache[str, str] = LRUCache(1024)
        """The mode that last succeeded, by user name."""

    def impersonate(self, user: Identity, target: Identity, request: Attributes) -> Identity:
        """The effective user of the request. Raises StatusError (403)."""
        modes = list(_modes(user, target))
        last = self._last.get(user.name)
        modes.sort(key=lambda mode: mode != last)
        refusal: StatusError | None = None
        for mode in modes:
            try:
                self._check(mode, user, target, request)
            except StatusError as error:
                refusal = refusal or error
            else:
                self._last[user.name] = mode
                return _completed(mode, target)
        raise refusal or forbidden(user, request)

    def _check(self, mode: str, requester: Identity, target: Identity, request: Attributes) -> None:
        if mode:
            self._allow(requester, request._replace(verb=f"impersonate-on:{mode}:{request.verb}"))
        verb = f"impersonate:{mode}" if mode else "impersonate"
        group = AUTHENTICATION if mode else ""
        user = _user(target.name, constrained=bool(mode))._replace(verb=verb, group=group)
        # Permission to impersonate the pod's own node holds for every node.
        self._allow(requester, user._replace(name="*") if mode == "associated-node" else user)
        if target.uid:
            self._allow(requester, Attributes(verb, AUTHENTICATION, "uids", name=target.uid))
        self._check_groups(requester, target.groups, Attributes(verb, group, "groups"), constrained=bool(mode))
        for key, values in target.extra:
            for value in values:
                self._allow(requester, Attributes(verb, AUTHENTICATION, "userextras", key, name=value))

    def _check_groups(self, asking: Identity, groups: tuple[str, ...], about: Attributes, *, constrained: bool) -> None:
        if constrained and users.MASTERS in groups:
            why = "impersonating the system:masters group is not allowed"
            raise forbidden(asking, about._replace(name=users.MASTERS), why)
        if constrained and len(groups) >= MANY_GROUPS and self._decide(asking, about._replace(name="*")).allowed:
            return
        for name in groups:
            self._allow(asking, about._replace(name=name))

    def _allow(self, user: Identity, attributes: Attributes) -> None:
        decision = self._decide(user, attributes)
        if not decision.allowed:
            raise forbidden(user, attributes, decision.reason)


def _modes(user: Identity, target: Identity) -> Iterator[str]:
    """The modes that apply to a user; the empty string is the legacy mode."""
    alone = not (target.groups or target.uid or target.extra)
    node = users.node_name(target.name)
    account = users.split_service_account(target.name) is not None
    if node and alone:
        own = dict(user.extra).get("authentication.kubernetes.io/node-name", ())
        if users.split_service_account(user.name) is not None and node in own:
            yield "associated-node"
        yield "arbitrary-node"
    if account and alone:
        yield "serviceaccount"
    if not node and not account:
        yield "user-info"
    yield ""


def _user(name: str, *, constrained: bool) -> Attributes:
    """The resource that represents a user in authorization."""
    account = users.split_service_account(name)
    if account is not None:
        return Attributes("", "", "serviceaccounts", namespace=account[0], name=account[1])
    if constrained and users.node_name(name):
        return Attributes("", "", "nodes", name=users.node_name(name))
    return Attributes("", "", "users", name=name)


def _completed(mode: str, target: Identity) -> Identity:
    """The impersonated user with the groups that the name implies."""
    groups = target.groups
    account = users.split_service_account(target.name)
    if account is not None and not groups:
        groups = users.service_account_groups(account[0])
    elif mode.endswith("-node"):
        groups = (users.NODES,)
    if target.name == users.ANONYMOUS.name:
        if users.UNAUTHENTICATED not in groups:
            groups = (*groups, users.UNAUTHENTICATED)
    elif users.UNAUTHENTICATED not in groups and users.AUTHENTICATED not in groups:
        groups = (*groups, users.AUTHENTICATED)
    return replace(target, groups=groups)
