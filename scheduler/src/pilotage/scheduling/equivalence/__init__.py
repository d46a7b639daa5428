"""The equivalence cache: results that are kept for pods of one equivalence class."""
