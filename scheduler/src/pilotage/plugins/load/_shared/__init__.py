"""What plugins of this subject share."""
