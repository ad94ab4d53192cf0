"""What the pages of site and marketplace share: their style, and that nothing typed is lost."""
