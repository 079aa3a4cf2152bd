"""The door for models: an MCP server whose tools call REST, over stdio and over HTTP."""
