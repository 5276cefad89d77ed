"""A Kubernetes-compatible cluster in one Python process: a test bed and a playground, not a place to run applications.

The core takes a :class:`~uniteddeployment.embedded.http.Request` and gives a
:class:`~uniteddeployment.embedded.http.Response` without sockets and without waiting, so that simulations call it in
process under virtual time; ``serving`` puts HTTPS around it.
"""
