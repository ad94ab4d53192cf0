"""What the preferences of a campaign say about its runs: computed in the background, stored, and shown."""
