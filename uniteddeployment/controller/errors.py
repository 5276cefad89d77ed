"""Errors that end a controller process, in a module that is quick to import."""


class StartError(Exception):
    """The controller cannot start. The message says why and what to do, in one line."""


class WebhookError(Exception):
    """The webhooks cannot be served. The message says why, in one line."""
