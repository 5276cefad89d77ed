"""Authentication, impersonation, authorization (RBAC) and audit."""
