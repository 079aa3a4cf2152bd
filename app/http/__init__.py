"""What REST and pages have in common: sessions, access, problems, guards."""
