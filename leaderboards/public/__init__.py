"""What everybody can see of a board, and take away."""
