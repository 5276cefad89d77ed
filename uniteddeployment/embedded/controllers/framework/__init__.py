"""The machinery that every controller is built from: work queue, label index, conditions, times."""
