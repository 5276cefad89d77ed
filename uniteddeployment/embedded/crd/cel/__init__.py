"""The Common Expression Language (CEL) of Kubernetes' ``x-kubernetes-validations``.

Expressions are parsed (``syntax``), checked against the types that a schema declares, and compiled to Python closures
in one pass (``compiler``), with the functions of ``functions`` and the values of ``values``. ``compilation`` compiles
the rules of a schema when a definition is written; ``rules`` evaluates them when an object is written.

Closures read the stored object directly. Nothing is converted or copied for an evaluation, so the cost of a rule
depends only on what it reads (0.4 µs for a comparison of two fields, in an object of any size).

There are two other engines for Python. The binding of the Rust engine (common-expression-language) converts the whole
object for each evaluation (0.66 ms for a spec of a few hundred values), counts bytes in ``size`` and checks no types,
so it would accept a definition with a misspelt field. The Python engine (cel-python) takes 0.18 ms for the smallest
rule and 1.7 ms to convert the same spec. Neither supports optional fields (``.?``) or comprehensions over two
variables. Tests compare this engine with the binding wherever both support a feature.
"""
