"""The request path: parse, negotiate, read or write, respond. One module per step; none of them blocks."""
