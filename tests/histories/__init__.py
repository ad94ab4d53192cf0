"""Random histories of people, researchers, time, lost replies and killed jobs: the money is checked after each step."""
