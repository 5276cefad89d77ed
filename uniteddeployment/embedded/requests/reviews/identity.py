"""Identity reviews: SelfSubjectReview and TokenReview."""

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.jwt import InvalidTokenError
from uniteddeployment.embedded.auth.tokens import AUDIENCES
from uniteddeployment.embedded.errors import bad_request
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.requests.reviews.question import Question


def who_am_i(question: Question) -> Obj:
    """The effective user of the request."""
    return {"userInfo": _user_info(question.identity)}


def token(question: Question) -> Obj:
    """The user of a token, and the audiences among those given for which it is valid. Raises StatusError (400) without
    one.
    """
    spec = question.spec
    text = spec.get("token") or ""
    if not text:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or AUDIENCES)
    try:
        authenticated = question.security.authenticator.authenticate_token(text, audiences)
    except InvalidTokenError as error:
        return {"user": {}, "error": str(error)}
    return {
        "authenticated": True,
        "user": _user_info(authenticated.identity),
        "audiences": list(authenticated.audiences),
    }


def _user_info(user: Identity) -> Obj:
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in sorted(user.extra)}
    return info
