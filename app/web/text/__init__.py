"""Untrusted text made safe, shortened and labelled for pages."""
