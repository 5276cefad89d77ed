"""Notifications of rollouts: what to send is decided and stored first, and then sent beside the decisions."""
