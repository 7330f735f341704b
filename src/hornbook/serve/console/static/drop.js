// A form that takes files takes them where they are dropped, and sends them at once.
for (const form of document.querySelectorAll('form[data-drop]')) {
  const field = form.querySelector('input[type="file"]');
  const place = form.closest('.panel') || form;
  const button = form.querySelector('button[value="check"]');
  for (const hint of form.querySelectorAll('[data-hint]')) hint.hidden = false;
  const over = on => event => {
    if (![...event.dataTransfer.types].includes('Files')) return;
    event.preventDefault();
    place.classList.toggle('over', on);
  };
  place.addEventListener('dragover', over(true));
  place.addEventListener('dragleave', over(false));
  place.addEventListener('drop', event => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    place.classList.remove('over');
    field.files = event.dataTransfer.files;
    form.requestSubmit(button);
  });
}
