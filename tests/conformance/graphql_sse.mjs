// The client of graphql-sse, each operation on a connection of its own.
import assert from 'node:assert/strict';
import { createClient } from 'graphql-sse';

const url = process.argv[2];
const client = createClient({ url, singleConnection: false, retryAttempts: 0 });
const first = async query => {
  for await (const result of client.iterate({ query })) return result;
};
assert.equal((await first('{ __typename }')).data.__typename, 'Query');
const found = await first('subscription { graphVersions { version documents } }');
assert.equal(typeof found.data.graphVersions.version, 'string');
assert.equal((await first('{ collections }')).data.collections.length, 2);
client.dispose();
console.log('graphql-sse: ok');
