"""A model as an optional reader of reports: the prompt, and the parts of its answer that can be believed."""
