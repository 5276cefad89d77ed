"""Preparation of objects before they are stored: allocations, generated labels, fields that clients may not set.

Contract: functions work in place on a private copy. A new object already has its uid, creationTimestamp and defaults.
These changes get no owner in managedFields.
"""
