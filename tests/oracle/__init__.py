"""Exhaustive answers for tiny problems, written from the definitions only; nothing here is used by twill itself."""
