"""Doors for other programs: each is an extra, imported where it is used."""
