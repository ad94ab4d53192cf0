"""What protects people's data: erasing, periods of keeping, closing accounts, and what may be released."""
