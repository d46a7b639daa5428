"""The configuration file: its types, its defaults and how it is loaded."""
