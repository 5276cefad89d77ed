"""Validation of built-in kinds, with the real server's messages.

Contract: functions are pure and return causes, an empty list for a valid object. Objects are decoded and have their
defaults; metadata is validated elsewhere. Paths are strings, built only where an error is possible.
"""
