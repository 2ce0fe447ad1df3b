"""Solvers behind one interface: a Formula in, a verdict out.  They run in child processes, time- and memory-limited, never trusted."""
