"""Captures that people already have: one file a kind, all of them into the same observations as live traffic."""
