"""Errors that end a controller process, in a module that is quick to import."""


class WebhookError(Exception):
    """The webhooks cannot be served. The message says why, in one line."""
