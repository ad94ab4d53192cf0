"""The words of people for times, money and qualifications, in templates."""
