"""MCP: tools, resources and a prompt, on stdin and stdout or over HTTP."""
