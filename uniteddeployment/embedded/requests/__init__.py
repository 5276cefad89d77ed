"""The request path: parse, negotiate, read or write, answer. One module for each step, none of them waits."""
