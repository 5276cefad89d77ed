"""Reviews: questions about users and access that are answered and not stored."""
