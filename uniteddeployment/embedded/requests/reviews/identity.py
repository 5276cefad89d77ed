"""Reviews of identity: who am I, and whose is this token."""

from uniteddeployment.embedded.apimachinery.resources import Obj
from uniteddeployment.embedded.auth.jwt import InvalidTokenError
from uniteddeployment.embedded.auth.tokens import AUDIENCES
from uniteddeployment.embedded.errors import bad_request
from uniteddeployment.embedded.http import Identity
from uniteddeployment.embedded.requests.reviews.question import Question


def who_am_i(question: Question) -> Obj:
    """The user that the server takes the asking one for."""
    return {"userInfo": _user_info(question.identity)}


def token(question: Question) -> Obj:
    """Whose a token is, and for which of the named audiences it is. Raises StatusError (400) if there is none."""
    spec = question.spec
    text = spec.get("token") or ""
    if not text:
        raise bad_request("token is required for TokenReview in authentication")
    audiences = tuple(spec.get("audiences") or AUDIENCES)
    try:
        found = question.security.authenticator.recognise(text, audiences)
    except InvalidTokenError as error:
        return {"user": {}, "error": str(error)}
    return {"authenticated": True, "user": _user_info(found.identity), "audiences": list(found.audiences)}


def _user_info(user: Identity) -> Obj:
    info: Obj = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in sorted(user.extra)}
    return info
