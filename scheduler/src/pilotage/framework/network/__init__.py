"""What plugins about applications and the network between their parts share."""
