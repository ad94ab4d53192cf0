"""Making and changing campaigns: forms, templates, copies, and what settings lead to."""
