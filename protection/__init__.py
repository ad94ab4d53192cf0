"""What protects people's data: erasing, periods, closing accounts, and release."""
