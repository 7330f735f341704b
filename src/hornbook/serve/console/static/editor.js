// What the editors of queries have in common: completion, and what was asked before.
export const at = id => document.getElementById(id);

// The text area and the list of what can stand where the cursor is: `choicesAt` says what was
// begun before the cursor, and what that may become.
export const completing = choicesAt => {
  const box = at('query');
  const list = at('choices');
  const insert = (choice, before) => {
    box.setRangeText(choice, box.selectionStart - before.length, box.selectionStart, 'end');
    list.hidden = true;
    box.focus();
  };
  const complete = () => {
    const { before, found } = choicesAt(box.value.slice(0, box.selectionStart));
    list.replaceChildren(...found.slice(0, 60).map(each => {
      const item = document.createElement('li');
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = each.shown || each.name;
      button.title = each.description || '';
      button.addEventListener('click', () => insert(each.name, before));
      item.append(button);
      return item;
    }));
    list.hidden = !found.length;
    if (found.length === 1) insert(found[0].name, before);
    else list.querySelector('button')?.focus();
  };
  box.addEventListener('keydown', event => {
    if (event.key === ' ' && event.ctrlKey) { event.preventDefault(); complete(); }
  });
  list.addEventListener('keydown', event => {
    const buttons = [...list.querySelectorAll('button')];
    const here = buttons.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); buttons[Math.max(0, Math.min(to, buttons.length - 1))].focus(); }
    if (event.key === 'Escape') { list.hidden = true; box.focus(); }
  });
};

// What was asked before, in this browser alone; the answer keeps a query.
export const remembering = name => {
  const past = () => { try { return JSON.parse(localStorage.getItem(name)) || []; } catch { return []; } };
  const tell = () => at('history').replaceChildren(new Option('choose one', ''),
    ...past().map(each => new Option(each.replace(/\s+/g, ' ').slice(0, 60), each)));
  for (const list of [at('example'), at('history')])
    list?.addEventListener('change', () => {
      if (list.value) at('query').value = list.value;
      list.value = '';
    });
  tell();
  return query => {
    localStorage.setItem(name, JSON.stringify([query, ...past().filter(each => each !== query)].slice(0, 20)));
    tell();
  };
};

export const onRun = run => document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) run();
});
