"""What is wrong with an object of a built-in kind, in the words of the real server.

Contract: functions are pure and give causes, an empty list if all is well. Objects are decoded and filled with
defaults; metadata is checked elsewhere. Paths are text, made only where they may be needed.
"""
