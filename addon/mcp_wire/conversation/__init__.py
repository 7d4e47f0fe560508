"""The state that links exchanges: sessions, logical streams, calls in flight."""
