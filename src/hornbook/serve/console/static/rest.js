const at = id => document.getElementById(id);
const prefix = document.body.dataset.prefix;
const words = (tag, text, kind) => {
  const element = document.createElement(tag);
  element.textContent = text; if (kind) element.className = kind; return element;
};
const schema = (all, node) => node && node.$ref
  ? all.components.schemas[node.$ref.split('/').pop()] : node;
const kind = node => !node ? '' : node.$ref ? node.$ref.split('/').pop()
  : node.anyOf ? node.anyOf.map(kind).join(' | ')
  : node.type === 'array' ? '[' + kind(node.items) + ']' : node.type || '';
const fields = (all, node) => {
  const table = document.createElement('table');
  const found = schema(all, node) || {};
  for (const [name, each] of Object.entries(found.properties || {})) {
    const row = table.insertRow();
    row.append(words('td', name + ((found.required || []).includes(name) ? '' : '?')),
      words('td', kind(each)), words('td', each.description || ''));
  }
  return table;
};
const route = (all, path, method, operation) => {
  const box = document.createElement('details');
  const head = words('summary', '');
  head.append(words('strong', method.toUpperCase() + ' '), words('code', path),
    words('span', ' ' + (operation.description || ''), 'muted'));
  box.append(head);
  const body = operation.requestBody?.content?.['application/json']?.schema;
  if (body) box.append(words('h3', 'Body'), fields(all, body));
  const done = operation.responses['200']?.content?.['application/json']?.schema;
  if (done) box.append(words('h3', 'Answer'), fields(all, done));
  box.append(words('h3', 'Otherwise'));
  for (const [status, each] of Object.entries(operation.responses))
    if (status >= 300) box.append(words('p', status + ' ' + each.description));
  return box;
};
const show = async () => {
  const headers = {};
  if (at('token')?.value) headers.authorization = 'Bearer ' + at('token').value;
  const answer = await fetch(`${prefix}/openapi.json`, { headers });
  const all = await answer.json();
  const place = at('paths');
  place.replaceChildren();
  at('said').textContent = all.paths ? '' : all.detail || 'there is no description';
  for (const [path, operations] of Object.entries(all.paths || {}))
    for (const [method, operation] of Object.entries(operations))
      place.append(route(all, path, method, operation));
};
at('load')?.addEventListener('click', show);
show();
