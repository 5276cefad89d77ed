"""What is to be done, decided without doing anything: no I/O, no clock, no randomness, no logging.

``plan.plan`` is the one way in. The controller, the command line's dry run, the tests and the simulation all call it.
"""
