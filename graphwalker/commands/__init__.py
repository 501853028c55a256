"""The commands of `graphwalker`, a module for each group."""
