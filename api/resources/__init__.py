"""What can be read and changed: one module for each kind of thing."""
