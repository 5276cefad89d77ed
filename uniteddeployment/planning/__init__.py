"""Decide what to write, without writing anything: no I/O, no clock, no randomness, no logging.

``plan.plan`` is the only entry point. The controller, ``ud plan``, the tests and the simulation all call it.
"""
