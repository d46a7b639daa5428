"""What a release needs: one version everywhere, its part of the changelog, and a chart that finds its images."""
