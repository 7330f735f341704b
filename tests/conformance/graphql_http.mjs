// The server audits of graphql-http: every one must be ok, without a warning.
import { serverAudits } from 'graphql-http';

const url = process.argv[2];
const failed = [];
let count = 0;
for (const audit of serverAudits({ url })) {
  const result = await audit.fn();
  count += 1;
  if (result.status !== 'ok') failed.push(`${result.status}: ${audit.id} ${audit.name}: ${result.reason}`);
}
console.log(`graphql-http: ${count - failed.length} of ${count} audits ok`);
for (const each of failed) console.error(each);
process.exit(failed.length ? 1 : 0);
