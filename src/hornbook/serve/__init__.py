"""The service: GraphQL, REST, SPARQL and MCP over HTTP, a folder each.

Thin adapters: no answer is made here that the command line does not give.
"""
