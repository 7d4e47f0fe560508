"""How rules are declared, run, folded into findings, and turned into recovery advice."""
