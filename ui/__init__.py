"""What the pages of site and marketplace share: style, known browsers, and that nothing typed is lost."""
