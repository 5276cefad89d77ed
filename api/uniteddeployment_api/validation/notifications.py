"""Validation of the notifications of rollouts."""

from collections.abc import Iterator, Sequence

from uniteddeployment_api import notification_texts
from uniteddeployment_api.errors import FieldError
from uniteddeployment_api.v1alpha1.notifications import RolloutNotification
from uniteddeployment_api.validation.candidate import violation


def notification_errors(notifications: Sequence[RolloutNotification]) -> Iterator[FieldError]:
    """Yield the rules that notifications violate."""
    names: set[str] = set()
    for index, notification in enumerate(notifications):
        path = f"spec.notifications[{index}]"
        if notification.name in names:
            yield violation("notification-names", f"{path}.name")
        names.add(notification.name)
        if not notification.events or len(set(notification.events)) < len(notification.events):
            yield violation("notification-events", f"{path}.events")
        if (notification.url is None) == (notification.url_from is None):
            yield violation("notification-url", f"{path}.url")
        try:
            notification_texts.check(notification.template or notification_texts.DEFAULT)
        except notification_texts.InvalidTemplate as error:
            yield violation("notification-template", f"{path}.template", str(error))
