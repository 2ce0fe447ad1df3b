"""Readers: text or modules in, TileProgram or Problem out."""
