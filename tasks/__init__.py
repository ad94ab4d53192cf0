"""Test pairs, packed HITs, assignments, workers, links and panels."""
