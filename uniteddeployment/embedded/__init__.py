"""A Kubernetes-compatible cluster in one Python process: a test bed and a playground, not a place to run applications.

:class:`~uniteddeployment.embedded.cluster.Cluster` takes a :class:`~uniteddeployment.embedded.http.Request` and returns
a :class:`~uniteddeployment.embedded.http.Response` without sockets and without waiting, so simulations can call it in
process under virtual time. ``serving`` adds HTTPS.
"""
