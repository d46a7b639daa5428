"""What plugins share that score by how busy nodes really are."""
