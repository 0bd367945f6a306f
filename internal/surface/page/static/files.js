// Files go up as soon as they are chosen, so that an error in another field
// costs nobody a second upload, and a page that is reloaded still has them.
// Without this script they go up with the answer.

const ask = document.getElementById('ask');
const busy = new Set(); // fields whose files are on their way
let next = Promise.resolve(); // one after the other
let waiting = null; // the button that was pressed meanwhile

// send posts the files of a field to its page, and gives the page that comes
// back.
function send(input, progress) {
  return new Promise((resolve, reject) => {
    const body = new FormData();
    body.append('token', ask.elements.token.value); // before the files: without it they are not taken
    for (const e of ask.querySelectorAll(`#${input.id}-kept :checked`)) body.append(e.name, e.value);
    for (const f of input.files) body.append(input.name, f);
    const request = new XMLHttpRequest(); // fetch does not tell how far it is
    request.open('POST', `${location.pathname.replace(/\/(extend|files)$/, '')}/files`);
    request.responseType = 'document';
    request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
    request.onload = () => resolve({ status: request.status, page: request.response });
    request.onerror = reject;
    request.onabort = reject;
    request.send(body);
  });
}

// meter shows how far the files of a field are.
function meter(input) {
  const bar = Object.assign(document.createElement('progress'), { max: 1, value: 0 });
  bar.setAttribute('aria-label', 'Sending');
  const said = Object.assign(document.createElement('p'), { className: 'help' });
  said.setAttribute('role', 'status');
  input.after(bar, said);
  return {
    show: (part) => { bar.value = part; },
    say: (words) => { said.textContent = words; },
    end: () => { bar.remove(); },
    gone: () => { bar.remove(); said.remove(); },
  };
}

const meters = new Map();

async function upload(input) {
  if (!input.files.length) return;
  meters.get(input)?.gone();
  const progress = meter(input);
  meters.set(input, progress);
  progress.say('Sending…');
  try {
    const { status, page } = await send(input, progress.show);
    const kept = page?.getElementById(`${input.id}-kept`);
    if (!kept || (status !== 200 && status !== 422)) throw new Error(String(status));
    document.getElementById(kept.id).replaceWith(kept);
    input.value = '';
    const problem = page.getElementById(`${input.id}-problem`);
    input.dispatchEvent(new Event('input', { bubbles: true }));
    if (problem) {
      complain(input, problem);
      await previews.get(input);
      forget(input); // a file that is not kept is not shown
    }
    progress.say(problem ? '' : 'Sent and kept.');
  } catch {
    // It is still chosen, and goes up with the answer.
    progress.say('This could not be sent now. It is sent with your answer.');
  }
  progress.end();
}

// complain shows what the server found wrong with a file, where the page says
// what is wrong with what somebody typed.
function complain(input, problem) {
  document.getElementById(problem.id)?.remove();
  problem.setAttribute('aria-live', 'polite');
  input.before(problem);
  input.closest('.f').classList.add('bad');
  const ids = new Set((input.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean));
  input.setAttribute('aria-describedby', [...ids.add(problem.id)].join(' '));
  input.setAttribute('aria-invalid', 'true');
}

// ---- preview: images are drawn on a canvas and texts are set as text, so that
// nothing of a file is loaded as a part of the page

const previewed = 4; // files
const widest = 640; // pixels
const longest = 2000; // characters
const heaviest = 20_000_000; // bytes of an image

async function picture(file) {
  const image = await createImageBitmap(file);
  const scale = Math.min(1, widest / image.width, widest / image.height);
  const canvas = Object.assign(document.createElement('canvas'), {
    width: Math.max(1, Math.round(image.width * scale)), height: Math.max(1, Math.round(image.height * scale)),
  });
  canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
  image.close();
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `Preview of ${file.name}`);
  return canvas;
}

async function excerpt(file) {
  const text = await file.slice(0, longest * 4).text();
  if (/[\0-\x08\x0e-\x1f]/.test(text)) return null; // no text after all
  const pre = document.createElement('pre');
  pre.textContent = text.length > longest ? `${text.slice(0, longest)}…` : text;
  pre.tabIndex = 0; // it may scroll
  pre.setAttribute('role', 'group');
  pre.setAttribute('aria-label', `Preview of ${file.name}`);
  return pre;
}

const isText = (file) => /^text\/|^application\/(json|xml|yaml|x-yaml|toml)$/.test(file.type) || /\.(txt|md|csv|json|ya?ml|toml|ini|log)$/i.test(file.name);

const previews = new Map(); // by field, until they are drawn

const forget = (input) => input.closest('.f').querySelectorAll('.preview').forEach((e) => e.remove());

async function preview(input) {
  const box = input.closest('.f');
  const figures = await Promise.all([...input.files].slice(0, previewed).map(async (file) => {
    let shown = null;
    try {
      if (file.type.startsWith('image/') && file.size <= heaviest) shown = await picture(file);
      else if (isText(file)) shown = await excerpt(file);
    } catch {
      // what the browser cannot draw has no preview
    }
    if (!shown) return null;
    const figure = Object.assign(document.createElement('figure'), { className: 'preview' });
    figure.append(Object.assign(document.createElement('figcaption'), { textContent: file.name }), shown);
    return figure;
  }));
  forget(input);
  box.append(...figures.filter(Boolean));
}

for (const input of ask.querySelectorAll('input[type=file]')) {
  input.addEventListener('change', () => {
    const { size, preview: wanted } = JSON.parse(input.closest('[data-rule]').dataset.rule);
    if ([...input.files].some((f) => f.size > size)) return; // the page says so
    if (wanted && input.files.length) previews.set(input, preview(input));
    busy.add(input);
    next = next.then(() => upload(input)).then(() => {
      busy.delete(input);
      if (busy.size || !waiting) return;
      const button = waiting;
      waiting = null;
      ask.requestSubmit(button);
    });
  });
}

// An answer waits for its files.
ask.addEventListener('submit', (event) => {
  if (!busy.size || event.submitter?.value !== 'accept') return;
  event.preventDefault();
  event.stopImmediatePropagation();
  waiting = event.submitter;
}, { capture: true });
