"""The Common Expression Language as Kubernetes speaks it in ``x-kubernetes-validations``.

Expressions are parsed (``syntax``), checked against the types that a schema declares and turned into Python closures in
one pass (``compiler``), with the functions of ``functions`` and the values of ``values``. ``compilation`` does that for
the rules of a schema when a definition is written, ``rules`` evaluates them when an object is.

Closures read the object as it is: nothing is converted or copied for an evaluation, so that a rule on a large object
costs what it looks at and no more (0.4 µs for a comparison of two fields, whatever is around them).

Why an engine of our own: there are two for Python. The binding of the Rust one (common-expression-language) converts
the whole object for each evaluation (0.66 ms for a spec of a few hundred values), counts bytes in ``size`` and checks
no types, so that a definition with a misspelt field would be accepted; the one in Python (cel-python) takes 0.18 ms for
the smallest rule and 1.7 ms to convert the same spec. Neither reads optional fields (``.?``) or comprehensions over two
variables. Tests compare this one with the binding wherever both have a feature.
"""
