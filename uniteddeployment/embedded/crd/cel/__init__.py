"""The Common Expression Language as Kubernetes speaks it in ``x-kubernetes-validations``.

Expressions are parsed (``syntax``), checked against the types that a schema declares and turned into Python closures in
one pass (``compiler``), with the functions of ``functions`` and the values of ``values``. ``compilation`` does that for
the rules of a schema when a definition is written, ``rules`` evaluates them when an object is.

Closures read the object as it is: nothing is converted or copied for an evaluation, so that a rule on a large object
costs what it looks at and no more.
"""
