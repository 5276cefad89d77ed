"""JSON patch, merge patch and strategic merge patch."""
