// What every page has: times told as time ago, keys, and the live parts.
import { follow } from './live.js';

const UNITS = [['year', 31536000], ['month', 2592000], ['day', 86400], ['hour', 3600], ['minute', 60]];
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'long' });

const ago = moment => {
  const seconds = (moment - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) || ['second', 1];
  return relative.format(Math.round(seconds / size), unit);
};

export const tellTimes = place => {
  for (const each of place.querySelectorAll('time[datetime]')) {
    const moment = Date.parse(each.dateTime);
    if (Number.isNaN(moment)) continue;
    each.title = each.title || `${each.textContent} UTC`;
    each.textContent = ago(moment);
  }
};

const help = () => {
  const found = document.querySelector('dialog.help');
  if (found) { found.showModal(); return; }
  const box = document.createElement('dialog');
  box.className = 'help';
  box.setAttribute('aria-label', 'Keys');
  const rows = [...document.querySelectorAll('nav a[data-key]')]
    .map(link => [`g ${link.dataset.key}`, link.textContent]);
  rows.push(['j k', 'next, previous row'], ['Enter', 'open the row'], ['/', 'search field'], ['?', 'this help']);
  const table = document.createElement('table');
  for (const [keys, what] of rows) {
    const row = table.insertRow();
    const cell = row.insertCell();
    for (const key of keys.split(' ')) {
      const shown = document.createElement('kbd');
      shown.textContent = key;
      cell.append(shown, ' ');
    }
    row.insertCell().textContent = what;
  }
  const close = document.createElement('button');
  close.textContent = 'Close';
  close.addEventListener('click', () => box.close());
  box.append(table, close);
  document.body.append(box);
  box.showModal();
};

const step = by => {
  const rows = [...document.querySelectorAll('main a[data-row]')];
  if (!rows.length) return;
  const here = rows.indexOf(document.activeElement);
  const next = here < 0 ? (by > 0 ? 0 : rows.length - 1) : here + by;
  rows[Math.max(0, Math.min(rows.length - 1, next))].focus();
};

let going = 0;
const typing = target => target.closest?.('input, textarea, select, [contenteditable]');
document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  if (Date.now() - going < 1200) {
    going = 0;
    const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
    if (link) { event.preventDefault(); link.click(); return; }
  }
  const done = {
    g: () => { going = Date.now(); },
    j: () => step(1),
    k: () => step(-1),
    '?': help,
    '/': () => document.querySelector('main [data-search]')?.focus(),
  }[event.key];
  if (done) { event.preventDefault(); done(); }
});

for (const button of document.querySelectorAll('[data-copy]')) button.hidden = false;
document.addEventListener('click', async event => {
  const button = event.target.closest('[data-copy]');
  if (!button) return;
  await navigator.clipboard.writeText(button.dataset.copy);
  button.textContent = 'Copied';
});

// An answer that says why by a reason needs one, and one that says what to do needs words.
document.addEventListener('change', event => {
  const form = event.target.closest('.answer');
  if (!form || event.target.name !== 'action') return;
  for (const name of ['text', 'reason'])
    form.querySelector(`textarea[name="${name}"]`).required = name in event.target.dataset;
});

tellTimes(document);
setInterval(() => tellTimes(document), 30000);
const main = document.querySelector('main[data-live]');
if (main) follow(main, tellTimes);
