"""Redaction: what may leave the process, and under which label everything else does."""
