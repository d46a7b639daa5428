"""Who is next: every waiting pod, in exactly one place."""
