"""The built-in kinds of the cluster.

Contract: :func:`resources` gives them as :class:`~uniteddeployment.embedded.resources.Resource` values. What a kind is
stands in data files: names, columns and selectors in ``kinds.json``, fields in ``definitions.json``, constant
defaults in ``defaults.json``; what is written out when it is empty is in ``schema/wire.json``.
"""

from uniteddeployment.embedded.builtin.catalog import resources, strategy_for
from uniteddeployment.embedded.builtin.conform import DecodeError

__all__ = ["DecodeError", "resources", "strategy_for"]
