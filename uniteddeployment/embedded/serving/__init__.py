"""HTTPS for a cluster: certificates, connections and the HTTP/1.1 protocol."""
