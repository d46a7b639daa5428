"""What the scheduler tells about itself: metrics, logs and health."""
