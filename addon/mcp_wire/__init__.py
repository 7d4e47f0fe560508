"""Judge MCP Streamable HTTP traffic: who broke which clause, with the evidence and the citation."""
