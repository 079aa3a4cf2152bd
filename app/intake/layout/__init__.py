"""The layout of a report: what its headings, captions, lists and tables say of the blocks below them."""
