"""Users and labs; what all apps share: errors, HTTP and form helpers, COPY, locks, logs."""
