"""GraphQL: schema, resolvers, execution and transports."""
