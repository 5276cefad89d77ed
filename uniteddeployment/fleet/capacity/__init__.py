"""The capacity of a member: sums over its nodes and pods, and the room for more pods."""
