const at = id => document.getElementById(id);
const ask = async (query, variables) => {
  const headers = { 'content-type': 'application/json',
    accept: 'application/graphql-response+json, application/json' };
  if (at('token').value) headers.authorization = 'Bearer ' + at('token').value;
  const answer = await fetch('/graphql', { method: 'POST', headers,
    body: JSON.stringify({ query, variables }) });
  return answer.json();
};
const run = async () => {
  let variables = {};
  try { variables = JSON.parse(at('variables').value || '{}'); }
  catch (problem) {
    at('answer').textContent = 'The variables are not JSON: ' + problem.message;
    return;
  }
  at('state').textContent = 'asking…';
  const began = performance.now();
  try {
    const found = await ask(at('query').value, variables);
    at('answer').textContent = JSON.stringify(found, null, 2);
    at('state').textContent = Math.round(performance.now() - began) + ' ms';
  } catch (problem) { at('answer').textContent = String(problem); at('state').textContent = ''; }
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
document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run(); });
const asked = new URLSearchParams(location.hash.slice(1)).get('query');
if (asked) at('query').value = asked;
describe();
