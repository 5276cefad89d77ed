"""What the server does to an object before it stores it: allocations, generated labels, what clients may not set.

Contract: functions work in place on a private copy. A new object has its uid and creationTimestamp already, and its
defaults are filled. What happens here is not the client's: nobody comes to own it.
"""
