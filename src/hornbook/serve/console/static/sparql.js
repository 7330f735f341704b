// The editor of SPARQL: what can be completed are its words, the terms that the page lists, and the
// variables of the query itself.
import { at, completing, onRun, remembering } from './editor.js';

const WORDS = ['SELECT', 'DISTINCT', 'WHERE', 'OPTIONAL', 'FILTER', 'GRAPH', 'UNION', 'VALUES', 'BIND',
  'ORDER BY', 'GROUP BY', 'LIMIT', 'OFFSET', 'COUNT', 'ASK', 'CONSTRUCT', 'DESCRIBE', 'EXISTS', 'NOT'];
const terms = [...document.querySelectorAll('#terms tbody tr')].map(row => ({
  name: row.cells[0].textContent.trim(), description: row.cells[1].textContent }));
const choicesAt = text => {
  const before = text.match(/[?$]?[\w.:-]*$/)[0];
  const variables = [...new Set(at('query').value.match(/[?$]\w+/g) || [])];
  const offered = /^[?$]/.test(before) ? variables.map(name => ({ name }))
    : [...terms, ...WORDS.map(name => ({ name }))];
  const begun = before.toLowerCase();
  return { before, found: offered.filter(each => each.name !== before && each.name.toLowerCase().startsWith(begun)) };
};
const form = at('query').form;
const remember = remembering('hornbook-sparql');
form.addEventListener('submit', () => remember(at('query').value));
completing(choicesAt);
onRun(() => form.requestSubmit());
for (const each of document.querySelectorAll('[data-scripted]')) each.hidden = false;
