"""The equivalence cache: results for each equivalence class of pods."""
