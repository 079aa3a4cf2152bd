"""Sessions, access, problems and guards, shared by REST and pages."""
