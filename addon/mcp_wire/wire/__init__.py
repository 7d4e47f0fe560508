"""From bytes to meaning, without any state that outlives one exchange."""
