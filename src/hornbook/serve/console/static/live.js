// One stream of events for all tabs of a browser: one visible tab holds it and tells the others.
// What a page shows is made by the server alone: whenever something happens that the page is about,
// it is fetched again, and the parts of it that are others now take the place of the old ones.

const prefix = document.body.dataset.prefix;
const LOCK = `hornbook-live ${location.host}${prefix}`;
const channel = new BroadcastChannel(LOCK);
const SOON = 250;
const SELDOM = 1000;

const told = new Set();
channel.addEventListener('message', event => {
  if (event.data.kind !== 'joined') for (const each of told) each(event.data);
});
const tell = message => {
  channel.postMessage(message);
  for (const each of told) each(message);
};

// Holds the stream until the tab is hidden; the next visible tab has the lock then. Whatever happened
// before the server says `open` is on no page yet, nor what a tab that joins later has not heard.
const hold = () => new Promise(release => {
  const stream = new EventSource(`${prefix}/live`);
  let open = false;
  stream.addEventListener('message', event => { open = true; tell(JSON.parse(event.data)); });
  stream.addEventListener('error', () => { open = false; tell({ kind: 'lost' }); });
  const join = event => { if (open && event.data.kind === 'joined') channel.postMessage({ kind: 'open' }); };
  channel.addEventListener('message', join);
  const hide = () => {
    if (document.visibilityState !== 'hidden') return;
    document.removeEventListener('visibilitychange', hide);
    channel.removeEventListener('message', join);
    stream.close();
    release();
  };
  document.addEventListener('visibilitychange', hide);
});

let waiting = null;
const take = async () => {
  if (waiting || document.visibilityState === 'hidden') return;
  waiting = new AbortController();
  try { await navigator.locks.request(LOCK, { signal: waiting.signal }, hold); }
  catch (problem) { if (problem.name !== 'AbortError') throw problem; }
  waiting = null;
  take();
};
const looked = () => {
  if (document.visibilityState === 'hidden') waiting?.abort();
  else take();
};

const concerns = (topics, message) => topics.some(topic => {
  const [kind, name] = [topic.split(':')[0], topic.slice(topic.indexOf(':') + 1)];
  if (kind === 'graph') return message.kind === 'graph';
  if (kind === 'runs') return message.kind === 'run';
  if (kind === 'run') return (message.kind === 'run' || message.kind === 'log') && message.run === name;
  if (kind === 'plan') return message.kind === 'run' && message.plan === name;
  return false;
});

const beingFilledIn = part => part.contains(document.activeElement)
  && document.activeElement.matches('input, textarea, select')
  || [...part.querySelectorAll('textarea, input[type="text"]')].some(each => each.value !== each.defaultValue);

const replace = (old, fresh, after) => {
  if (old.dataset.html === fresh.outerHTML) return;
  if (beingFilledIn(old)) {
    old.dataset.changed = 'yes';
    if (!old.querySelector('.changed')) {
      const note = document.createElement('p');
      note.className = 'changed said bad';
      note.setAttribute('role', 'status');
      note.textContent = 'This changed while you were writing. What you send is checked against it.';
      old.prepend(note);
    }
    return;
  }
  const html = fresh.outerHTML;
  const open = new Set([...old.querySelectorAll('details[open][id]')].map(each => each.id));
  const log = old.querySelector('.log');
  const atEnd = log && log.scrollTop + log.clientHeight >= log.scrollHeight - 40;
  const focus = old.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  for (const each of fresh.querySelectorAll('details[id]')) if (open.has(each.id)) each.open = true;
  old.replaceWith(fresh);
  fresh.dataset.html = html;
  after(fresh);
  if (focus) fresh.querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus();
  const now = fresh.querySelector('.log');
  if (now && atEnd) now.scrollTop = now.scrollHeight;
};

export const follow = (main, after) => {
  const topics = main.dataset.live.split(' ');
  const state = document.getElementById('live-state');
  state.hidden = false;
  for (const part of main.querySelectorAll('[data-part]')) {
    const log = part.querySelector('.log');
    if (log) log.scrollTop = log.scrollHeight;
  }
  let due = null;
  let last = 0;
  const refresh = async () => {
    due = null;
    last = Date.now();
    let answer;
    try { answer = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-store' }); }
    catch { return; }
    if (!answer.ok || answer.redirected) return;
    const found = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of found.querySelectorAll('main [data-part]')) {
      const old = main.querySelector(`[data-part="${CSS.escape(part.dataset.part)}"]`);
      if (old) replace(old, document.importNode(part, true), after);
    }
    const foot = found.querySelector('.bottom');
    if (foot) { document.querySelector('.bottom').replaceWith(foot); after(foot); }
  };
  const soon = () => {
    if (due || document.visibilityState === 'hidden') return;
    due = setTimeout(refresh, Math.max(SOON, SELDOM - (Date.now() - last)));
  };
  const shown = (kind, title) => { state.className = `state ${kind}`; state.title = title; };
  told.add(message => {
    if (message.kind === 'lost') shown('off', 'The server does not answer; trying again');
    else shown('on', 'Live');
    if (message.kind === 'open' || concerns(topics, message)) soon();
  });
  document.addEventListener('visibilitychange', () => {
    looked();
    soon();
  });
  channel.postMessage({ kind: 'joined' });
  take();
};
