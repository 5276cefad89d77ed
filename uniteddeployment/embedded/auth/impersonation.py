"""Impersonation: a request that is to be answered as if somebody else had sent it.

Contract: 1.36's order of modes. The constrained modes ask for ``impersonate-on:MODE:VERB`` on what the request is about
and ``impersonate:MODE`` on the user; then the old mode asks for ``impersonate`` on user, groups, uid and extra. The
refusal that the client sees is that of the first mode that was tried, which is the one that last worked for them.
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
"""From so many groups on, a constrained mode first asks for all groups at once."""

Decide = Callable[[Identity, Attributes], Decision]


def wanted(headers: Mapping[str, str]) -> Identity | None:
    """Whom the headers of a request name; None if it is nobody. Raises StatusError (400) without a user name."""
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
    """The values of a header that may be there several times."""
    return tuple(value.strip() for value in header.split(",") if value.strip())


def _as_go_prints(uid: str, groups: Sequence[str], extra: Sequence[tuple[str, Sequence[str]]]) -> str:
    """The user that was asked for, as the real server's message shows it."""

    def strings(values: Sequence[str]) -> str:
        return f"[]string{{{', '.join(map(json.dumps, values))}}}" if values else "[]string(nil)"

    pairs = ", ".join(f"{json.dumps(key)}:{strings(values)}" for key, values in extra)
    shown = f"map[string][]string{{{pairs}}}" if extra else "map[string][]string(nil)"
    return f'&user.DefaultInfo{{Name:"", UID:{json.dumps(uid)}, Groups:{strings(groups)}, Extra:{shown}}}'


class Impersonation:
    """Decides who may be whom."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._last: LRUCache[str, str] = LRUCache(1024)
        """The mode that worked last, by user name."""

    def impersonate(self, asking: Identity, asked: Identity, request: Attributes) -> Identity:
        """The user that the request is answered for. Raises StatusError (403)."""
        modes = list(_modes(asking, asked))
        last = self._last.get(asking.name)
        modes.sort(key=lambda mode: mode != last)
        refusal: StatusError | None = None
        for mode in modes:
            try:
                self._check(mode, asking, asked, request)
            except StatusError as error:
                refusal = refusal or error
            else:
                self._last[asking.name] = mode
                return _completed(mode, asked)
        raise refusal or forbidden(asking, request)

    def _check(self, mode: str, asking: Identity, asked: Identity, request: Attributes) -> None:
        if mode:
            self._allow(asking, replace(request, verb=f"impersonate-on:{mode}:{request.verb}"))
        verb = f"impersonate:{mode}" if mode else "impersonate"
        group = AUTHENTICATION if mode else ""
        user = replace(_user(asked.name, constrained=bool(mode)), verb=verb, group=group)
        # Permission to be the node that a pod runs on holds for whichever node that is.
        self._allow(asking, replace(user, name="*") if mode == "associated-node" else user)
        if asked.uid:
            self._allow(asking, Attributes(verb, AUTHENTICATION, "uids", name=asked.uid))
        self._check_groups(asking, asked.groups, Attributes(verb, group, "groups"), constrained=bool(mode))
        for key, values in asked.extra:
            for value in values:
                self._allow(asking, Attributes(verb, AUTHENTICATION, "userextras", key, name=value))

    def _check_groups(self, asking: Identity, groups: tuple[str, ...], about: Attributes, *, constrained: bool) -> None:
        if constrained and users.MASTERS in groups:
            why = "impersonating the system:masters group is not allowed"
            raise forbidden(asking, replace(about, name=users.MASTERS), why)
        if constrained and len(groups) >= MANY_GROUPS and self._decide(asking, replace(about, name="*")).allowed:
            return
        for name in groups:
            self._allow(asking, replace(about, name=name))

    def _allow(self, asking: Identity, asked: Attributes) -> None:
        decision = self._decide(asking, asked)
        if not decision.allowed:
            raise forbidden(asking, asked, decision.reason)


def _modes(asking: Identity, asked: Identity) -> Iterator[str]:
    """The modes that apply to a user; the empty one is the old mode."""
    alone = not (asked.groups or asked.uid or asked.extra)
    node = users.node_name(asked.name)
    account = users.split_service_account(asked.name) is not None
    if node and alone:
        own = dict(asking.extra).get("authentication.kubernetes.io/node-name", ())
        if users.split_service_account(asking.name) is not None and node in own:
            yield "associated-node"
        yield "arbitrary-node"
    if account and alone:
        yield "serviceaccount"
    if not node and not account:
        yield "user-info"
    yield ""


def _user(name: str, *, constrained: bool) -> Attributes:
    """The resource that stands for a user."""
    account = users.split_service_account(name)
    if account is not None:
        return Attributes("", "", "serviceaccounts", namespace=account[0], name=account[1])
    if constrained and users.node_name(name):
        return Attributes("", "", "nodes", name=users.node_name(name))
    return Attributes("", "", "users", name=name)


def _completed(mode: str, asked: Identity) -> Identity:
    """The impersonated user with the groups that follow from the name."""
    groups = asked.groups
    account = users.split_service_account(asked.name)
    if account is not None and not groups:
        groups = users.service_account_groups(account[0])
    elif mode.endswith("-node"):
        groups = (users.NODES,)
    if asked.name == users.ANONYMOUS.name:
        if users.UNAUTHENTICATED not in groups:
            groups = (*groups, users.UNAUTHENTICATED)
    elif users.UNAUTHENTICATED not in groups and users.AUTHENTICATED not in groups:
        groups = (*groups, users.AUTHENTICATED)
    return replace(asked, groups=groups)
