// The client of graphql-ws: a query, an error, and a subscription that is left.
import assert from 'node:assert/strict';
import { createClient } from 'graphql-ws';
import WebSocket from 'ws';

const url = process.argv[2].replace('http', 'ws');
const client = createClient({ url, webSocketImpl: WebSocket, retryAttempts: 0 });
const first = async query => {
  for await (const result of client.iterate({ query })) return result;
};
assert.equal((await first('{ __typename }')).data.__typename, 'Query');
const found = await first('subscription { graphVersions { version documents } }');
assert.equal(typeof found.data.graphVersions.version, 'string');
await assert.rejects(first('{ nothing }'), problems => problems[0].extensions.code === 'GRAPHQL_VALIDATION_FAILED');
assert.equal((await first('{ __typename }')).data.__typename, 'Query');
await client.dispose();
console.log('graphql-ws: ok');
