"""Machine judges: their answers beside people's, and asking them."""
