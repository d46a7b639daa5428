"""The file the scheduler reads: its types, its defaults and how it is loaded."""
