"""Where workers come from. Each venue is a module; `link` is the first."""
