"""Who may do what: authentication, impersonation, RBAC and the audit of requests."""
