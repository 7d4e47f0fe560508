"""What the specification fixes: revisions, methods, mirrored headers, schemas."""
