"""What a plugin author sees: extension points, nodes, verdicts and events."""
