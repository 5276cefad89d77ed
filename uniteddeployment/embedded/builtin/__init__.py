"""The built-in kinds of the cluster.

Contract: :func:`resources` returns them as :class:`~uniteddeployment.embedded.apimachinery.resources.Resource` values.
Data files define a kind: names, columns and selectors in ``kinds.json``, fields in ``definitions.json``, constant
defaults in ``defaults.json``, and the fields that are written out although they are empty in ``schema/wire.json``.
"""

from uniteddeployment.embedded.builtin.catalog import resources, strategy_for
from uniteddeployment.embedded.builtin.decoding import DecodeError

__all__ = ["DecodeError", "resources", "strategy_for"]
