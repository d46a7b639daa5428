"""The equivalence cache: answers that are kept for pods of one equivalence class."""
