import { at, completing, onRun, remembering } from './editor.js';

const prefix = document.body.dataset.prefix;
const csrf = document.body.dataset.csrf;
// What can stand where the cursor is. The text before it is read as names and brackets: each open
// brace is in the type of the field before it, and each open parenthesis among its arguments.
const TOKENS = /"(?:[^"\\]|\\.)*"?|#[^\n]*|\.\.\.|[A-Za-z_]\w*|\$\w*|@\w*|[{}():[\]!=,]/g;
let known = new Map();
const remember = remembering('hornbook-queries');
const named = type => type && (type.ofType ? named(type.ofType) : type.name);
const ROOTS = { query: 'Query', mutation: 'Mutation', subscription: 'Subscription' };
const choicesAt = (text, known) => {
  const before = text.match(/[A-Za-z_]\w*$/)?.[0] || '';
  const stack = [];
  let root = 'Query', field = null, on = false;
  for (const [token] of text.slice(0, text.length - before.length).matchAll(TOKENS)) {
    const top = stack.at(-1);
    if (token.startsWith('#') || token.startsWith('"')) continue;
    if (token === '{') {
      const given = top?.kind === 'arguments';
      const type = given ? named(top.last?.type)
        : !top ? root : field?.on || named(field?.type);
      stack.push({ kind: given ? 'arguments' : 'fields', of: known.get(type),
        args: given ? known.get(type)?.inputFields : undefined });
      field = null;
    } else if (token === '(') stack.push({ kind: 'arguments', args: field?.args, held: field });
    else if (token === ')') field = stack.pop()?.held || null;
    else if (token === '}') { stack.pop(); field = null; }
    else if (!top && ROOTS[token]) root = ROOTS[token];
    else if (token === 'on') on = true;
    else if (top?.kind === 'arguments') top.last = (top.args || []).find(each => each.name === token) || top.last;
    else if (top) {
      field = on ? { on: token } : top.of?.fields?.find(each => each.name === token) || field;
      on = false;
    }
  }
  const top = stack.at(-1);
  const offered = !top ? Object.keys(ROOTS).map(name => ({ name }))
    : top.kind === 'arguments' ? top.args || [] : top.of?.fields || [];
  const found = offered.filter(each => each.name.startsWith(before) && each.name !== before)
    .map(each => ({ ...each, shown: each.name + (each.type ? ': ' + shown(each.type) : '') }));
  return { before, found };
};
// The first list of plain objects in an answer, as a table.
const rowsIn = value => {
  if (Array.isArray(value)) return value.length && value.every(each => each && typeof each === 'object') ? value : null;
  for (const each of Object.values(value && typeof value === 'object' ? value : {})) {
    const found = rowsIn(each);
    if (found) return found;
  }
  return null;
};
const cell = value => value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
const MOST_ROWS = 500;
const asTable = rows => {
  const heads = [...new Set(rows.flatMap(Object.keys))];
  const table = document.createElement('table');
  const first = table.createTHead().insertRow();
  for (const head of heads) { const made = document.createElement('th'); made.textContent = head; first.append(made); }
  const body = table.createTBody();
  for (const row of rows.slice(0, MOST_ROWS)) {
    const line = body.insertRow();
    for (const head of heads) line.insertCell().textContent = cell(row[head]);
  }
  const wide = document.createElement('div');
  wide.className = 'wide';
  if (rows.length > MOST_ROWS)
    wide.append(words('p', `The first ${MOST_ROWS} of ${rows.length} rows; all of them are below.`, 'warn'));
  wide.append(table);
  return wide;
};

const ask = async (query, variables) => {
  const headers = { 'content-type': 'application/json',
    accept: 'application/graphql-response+json, application/json' };
  if (csrf) headers['x-csrf-token'] = csrf;
  if (at('token')?.value) headers.authorization = 'Bearer ' + at('token').value;
  const answer = await fetch(`${prefix}/graphql`, { method: 'POST', headers,
    body: JSON.stringify({ query, variables }) });
  return answer.json();
};
const tell = text => { const shown = document.createElement('pre'); shown.textContent = text;
  at('answer').replaceChildren(shown); };
const run = async () => {
  let variables = {};
  try { variables = JSON.parse(at('variables').value || '{}'); }
  catch (problem) { tell('The variables are not JSON: ' + problem.message); return; }
  at('state').textContent = 'asking…';
  const began = performance.now();
  const kept = new URLSearchParams({ query: at('query').value });
  if (at('variables').value) kept.set('variables', at('variables').value);
  history.replaceState(null, '', '#' + kept);
  try {
    const found = await ask(at('query').value, variables);
    tell(JSON.stringify(found, null, 2));
    const rows = found.data && rowsIn(found.data);
    if (rows) at('answer').prepend(asTable(rows));
    remember(at('query').value);
    at('state').textContent = Math.round(performance.now() - began) + ' ms';
  } catch (problem) { tell(String(problem)); at('state').textContent = ''; }
};
const LEVELS = 7;  // a list of lists without nulls has six
const REF = 'name kind ' + 'ofType { name kind '.repeat(LEVELS) + '}'.repeat(LEVELS);
const shown = type => type.kind === 'NON_NULL' ? shown(type.ofType) + '!'
  : type.kind === 'LIST' ? '[' + shown(type.ofType) + ']' : type.name;
const words = (tag, text, kind) => {
  const element = document.createElement(tag);
  element.textContent = text; if (kind) element.className = kind; return element;
};
const line = each => {
  const row = words('p', '');
  const given = (each.args || []).map(one => one.name + ': ' + shown(one.type)).join(', ');
  row.append(words('code', each.name + (given ? '(' + given + ')' : '') + ': ' + shown(each.type)));
  if (each.description) row.append(words('span', ' ' + each.description, 'muted'));
  return row;
};
const describe = async () => {
  const found = await ask(`{ __schema { types { name kind description enumValues { name }
    inputFields { name description type { ${REF} } }
    fields { name description type { ${REF} } args { name type { ${REF} } } } } } }`);
  const place = at('docs');
  place.replaceChildren();
  if (!found.data) {
    place.append(words('p', (found.errors || [{}])[0].message || 'no schema'));
    return;
  }
  known = new Map(found.data.__schema.types.map(type => [type.name, type]));
  const first = ['Query', 'Mutation', 'Subscription'];
  const types = found.data.__schema.types
    .filter(type => !type.name.startsWith('__') && type.kind !== 'SCALAR');
  const rank = type => (first.indexOf(type.name) + 1) || first.length + 1;
  types.sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
  for (const type of types) {
    const box = document.createElement('details');
    box.open = type.name === 'Query';
    const head = words('summary', ''); head.append(words('strong', type.name));
    if (type.description) head.append(words('span', ' ' + type.description, 'muted'));
    box.append(head);
    for (const each of type.fields || type.inputFields || []) box.append(line(each));
    for (const each of type.enumValues || []) box.append(words('p', each.name));
    place.append(box);
  }
};
at('run').addEventListener('click', run);
at('load').addEventListener('click', describe);
onRun(run);
completing(text => choicesAt(text, known));
const asked = new URLSearchParams(location.hash.slice(1));
if (asked.get("query")) at("query").value = asked.get("query");
if (asked.get("variables")) at("variables").value = asked.get("variables");
describe();
