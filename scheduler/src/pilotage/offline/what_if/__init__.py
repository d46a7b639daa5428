"""What would happen if: a request, a second world to try it in, and the answer; nothing that runs is touched."""
