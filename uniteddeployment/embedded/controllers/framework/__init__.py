"""The base of all controllers: work queue, label index, conditions and times."""
