// What a form's hints ask for and HTML alone does not have: lists that can be
// searched, sliders with their number, links to addresses that are being typed,
// dates in the form's own format, folded choices that say what is chosen. The
// page has a plain field for each of them, and works without this script.

const ask = document.getElementById('ask');

const make = (name, properties, attributes = {}) => {
  const e = Object.assign(document.createElement(name), properties);
  for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
  return e;
};

const labelOf = (box) => box.querySelector('bdi').textContent;

// ---- searchable: a field that leaves of a list what has the words

function searchable(box) {
  const list = box.querySelector('select, .pick');
  const status = make('p', { className: 'help found' }, { role: 'status' });
  const field = make('input', { type: 'text', className: 'search', placeholder: 'Search', autocomplete: 'off', spellcheck: false }, {
    'aria-label': `Search ${labelOf(box)}`,
  });
  const choices = list.matches('select') ? [...list.options].filter((o) => o.value !== '') : [...list.querySelectorAll('label')];
  if (list.matches('select')) list.size = Math.min(choices.length + 1, 6); // what is left of it is seen
  const chosen = (e) => e.selected || Boolean(e.querySelector?.(':checked'));
  const search = () => {
    const words = fold(field.value).split(/\s+/).filter(Boolean);
    let left = 0;
    for (const e of choices) {
      const found = words.every((w) => fold(e.textContent).includes(w));
      e.hidden = !found && !chosen(e); // what is chosen stays in sight
      left += found;
    }
    status.textContent = words.length ? `${left} of ${choices.length} found` : '';
  };
  field.addEventListener('input', (event) => {
    event.stopPropagation(); // it is no part of the answer
    search();
  });
  field.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') event.preventDefault(); // nothing is sent yet
    if (event.key !== 'ArrowDown') return;
    event.preventDefault();
    (list.matches('select') ? list : list.querySelector('label:not([hidden]) input'))?.focus();
  });
  list.before(field, status);
}

const fold = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();

// ---- slider: beside the number, which stays what is sent

function slide(box, { min, max, step }) {
  const number = box.querySelector('input[name]');
  const range = make('input', { type: 'range', min, max, step }, { 'aria-label': `${labelOf(box)}, slider` });
  const follow = () => {
    range.value = number.value === '' ? min : number.value;
    range.setAttribute('aria-valuetext', number.value === '' ? 'No answer' : number.value);
  };
  range.addEventListener('input', (event) => {
    event.stopPropagation();
    number.value = range.value;
    range.setAttribute('aria-valuetext', range.value);
    number.dispatchEvent(new Event('input', { bubbles: true }));
  });
  range.addEventListener('change', () => number.dispatchEvent(new Event('change', { bubbles: true })));
  number.addEventListener('input', follow);
  follow();
  number.before(range);
}

// ---- testButton: a link that the person follows; no program fetches anything

function tryLink(p) {
  const input = p.closest('.f').querySelector('input[name]');
  const a = p.querySelector('a');
  const follow = () => {
    const url = safe(input.value.trim());
    p.hidden = !url;
    if (!url) return;
    a.href = url.href;
    a.textContent = `Open ${url.host} in a new tab`;
  };
  input.addEventListener('input', follow);
  follow();
}

// safe gives an address that a person may be led to, as the server judges it.
function safe(text) {
  let url;
  try {
    url = new URL(text);
  } catch {
    return null;
  }
  const own = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname);
  const fits = (url.protocol === 'https:' || (url.protocol === 'http:' && own)) && !url.username && !url.password;
  return fits ? url : null;
}

// ---- displayFormat: the browser decides how a date is typed

const months = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

function written(format, value) {
  const m = /^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d))?)?/.exec(value);
  if (!m) return '';
  const [, Y, M, D, H = '00', mm = '00', ss = '00'] = m;
  const parts = {
    YYYY: Y, YY: Y.slice(2), MMMM: months[M - 1], MMM: months[M - 1].slice(0, 3), MM: M, M: String(Number(M)),
    DD: D, D: String(Number(D)), HH: H, H: String(Number(H)), mm, ss,
  };
  return format.replace(/YYYY|YY|MMMM|MMM|MM|M|DD|D|HH|H|mm|ss/g, (part) => parts[part]);
}

function showDate(box, format) {
  const input = box.querySelector('input[name]');
  const output = box.querySelector('.written');
  const follow = () => { output.textContent = written(format, input.value); };
  input.addEventListener('input', follow);
  follow();
}

// ---- multiselect_dropdown: what is chosen, without opening it

function summarise(details) {
  const summary = details.querySelector('summary');
  const follow = () => {
    const chosen = [...details.querySelectorAll('label:has(:checked)')].map((e) => e.textContent.trim());
    summary.textContent = chosen.length ? `${chosen.length} chosen: ${chosen.join(', ')}` : 'Nothing chosen';
  };
  details.addEventListener('input', follow);
  follow();
}

for (const box of ask.querySelectorAll('[data-rule]')) {
  const { search, slider, show } = JSON.parse(box.dataset.rule);
  if (!box.querySelector('[name]')) continue; // nothing to fill in
  if (search) searchable(box);
  if (slider) slide(box, slider);
  if (show) showDate(box, show);
}
ask.querySelectorAll('.try').forEach(tryLink);
ask.querySelectorAll('.fold').forEach(summarise);
for (const zone of ask.querySelectorAll('.dropzone')) {
  for (const [event, over] of [['dragenter', true], ['dragleave', false], ['drop', false]]) {
    zone.addEventListener(event, () => zone.classList.toggle('over', over));
  }
}
