// What makes the pages more pleasant: the time that runs, fields that appear
// when they are asked for, errors said while somebody types, drafts that
// survive a reload, one answer for two presses, a list that stays up to date.
// Every page works without it, and the server alone judges an answer.

const ask = document.getElementById('ask');
const over = document.getElementById('over');
const inbox = document.getElementById('inbox');

// ---- drafts: per question and tab, never secrets, gone once it is over

const drafts = 'draft ';
const draftKey = drafts + location.pathname.replace(/\/extend$/, '');
const maxDraft = 200_000;

// Storage may be switched off, or full: then there are no drafts.
function store(use) {
  try {
    return use(sessionStorage);
  } catch {
    return null;
  }
}

function forgetDrafts() {
  store((s) => Object.keys(s).filter((k) => k.startsWith(drafts)).forEach((k) => s.removeItem(k)));
}

const tickable = (e) => e.type === 'radio' || e.type === 'checkbox';
const secret = (e) => Boolean(e.closest('[data-secret]'));
const kept = () => [...ask.elements].filter((e) => /^f\d+$/.test(e.name) && e.type !== 'file' && !secret(e));
const secrets = () => [...ask.elements].filter((e) => secret(e) && (tickable(e) ? e.checked : e.value !== ''));

function saveDraft() {
  const draft = {};
  for (const e of kept()) {
    draft[e.name] ??= [];
    if (tickable(e)) {
      if (e.checked) draft[e.name].push(e.value);
    } else {
      draft[e.name].push(e.value);
    }
  }
  const text = JSON.stringify(draft);
  if (text.length <= maxDraft) store((s) => s.setItem(draftKey, text));
}

// loadDraft gives back what was typed before a reload, and reports whether
// that changed anything.
function loadDraft() {
  let draft = null;
  try {
    draft = JSON.parse(store((s) => s.getItem(draftKey)));
  } catch {
    // whatever is there is no draft
  }
  let changed = false;
  for (const e of draft ? kept() : []) {
    const values = draft[e.name];
    if (!Array.isArray(values)) continue;
    if (tickable(e)) {
      changed ||= e.checked !== values.includes(e.value);
      e.checked = values.includes(e.value);
    } else if (values.length === 1) {
      changed ||= e.value !== values[0];
      e.value = values[0];
    }
  }
  return changed;
}

function tell(words) {
  const p = Object.assign(document.createElement('p'), { className: 'news', textContent: words });
  p.setAttribute('role', 'status');
  ask.querySelector('.who').after(p);
}

// ---- fields: their values, when they are asked, and what is wrong with them

class Field {
  constructor(box) {
    this.box = box;
    this.rule = JSON.parse(box.dataset.rule);
    this.inputs = [...box.querySelectorAll('input[name], select, textarea')];
    this.id = this.inputs[0]?.name ?? box.id;
    this.never = box.hidden; // it is there for the conditions of others
    this.asked = true;
    this.checked = true;
  }

  // values are what the server would read: none for a field that is left
  // empty or not asked.
  get values() {
    if (!this.asked) return [];
    const { type, time, format, fixed } = this.rule;
    if (!this.inputs.length) return fixed ?? [];
    if (type === 'file') return this.files;
    if (type === 'boolean' && this.inputs[0].type === 'checkbox') return [String(this.inputs[0].checked)];
    if (type === 'boolean') return this.inputs.filter((e) => e.checked && e.value !== '').map((e) => String(e.value === 'on'));
    if (tickable(this.inputs[0])) {
      return this.inputs.filter((e) => e.checked && e.value !== '').map((e) => e.value);
    }
    let value = this.inputs[0].value;
    if (type !== 'text' || format) value = value.trim();
    if (time && /(^|T)\d\d:\d\d$/.test(value)) value += ':00Z';
    else if (time && /(^|T)\d\d:\d\d:\d\d(\.\d+)?$/.test(value)) value += 'Z';
    return value === '' ? [] : [value];
  }

  // files are those that are chosen now, and those that are kept already.
  get files() {
    const kept = [...this.box.querySelectorAll('.kept :checked')].map((e) => e.value);
    return [...kept, ...[...this.inputs[0].files].map((f) => f.name)];
  }

  has(wanted) {
    const same = this.rule.type === 'number' ? (a, b) => Number(a) === Number(b) : (a, b) => a === b;
    return this.values.some((v) => wanted.some((w) => same(v, w)));
  }

  // follow applies the field's conditions, and reports whether that changed
  // whether it is asked.
  follow(fields) {
    let shown = true;
    let enabled = true;
    this.checked = true;
    for (const { do: what, if: condition } of this.rule.when ?? []) {
      const is = holds(condition, fields);
      if (what === 'show') shown &&= is;
      if (what === 'hide') shown &&= !is;
      if (what === 'enable') enabled &&= is;
      if (what === 'disable') enabled &&= !is;
      if (what === 'validate') this.checked &&= is;
    }
    this.box.hidden = this.never || !shown;
    for (const e of this.box.querySelectorAll('input, select, textarea')) e.disabled = !shown || !enabled;
    this.box.classList.toggle('off', !enabled);
    const changed = this.asked !== (shown && enabled);
    this.asked = shown && enabled;
    return changed;
  }

  // fault is what is wrong as far as can be told here, or ''. It never says no
  // to what the server takes: rounding numbers keeps their order.
  get fault() {
    const { rule, inputs } = this;
    const say = (constraint) => rule.say[constraint] ?? '';
    if (!this.asked || !this.checked || !inputs.length) return '';
    if (inputs[0].validity.badInput) return say('type');
    const { values } = this;
    if (!values.length) return rule.required ? say('required') : '';
    const [value] = values;
    switch (rule.type) {
      case 'number': {
        const n = Number(value);
        if (!/^[+-]?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?$/.test(value)) return say('type');
        if (rule.min !== undefined && n < Number(rule.min)) return say('minimum');
        if (rule.max !== undefined && n > Number(rule.max)) return say('maximum');
        return rule.whole && Number.isFinite(n) && !Number.isInteger(n) ? say('multipleOf') : '';
      }
      case 'date':
        if (rule.time) return '';
        if (rule.min !== undefined && value < rule.min) return say('minimum');
        return rule.max !== undefined && value > rule.max ? say('maximum') : '';
      case 'file':
        if ([...inputs[0].files].some((f) => f.size > rule.size)) return say('maxSize');
        if (rule.most === 1) return ''; // another one takes its place
        if (rule.least && values.length < rule.least) return say('minItems');
        return rule.most && values.length > rule.most ? say('maxItems') : '';
      case 'multi_select':
        if (rule.least && values.length < rule.least) return say('minItems');
        return rule.most && values.length > rule.most ? say('maxItems') : '';
      case 'text': {
        const length = [...value].length;
        if (rule.least && length < rule.least) return say('minLength');
        if (rule.most && length > rule.most) return say('maxLength');
        if (rule.format === 'email' && !value.includes('@')) return say('format');
        return rule.format === 'uri' && !/^[a-z][a-z\d+.-]*:/i.test(value) ? say('format') : '';
      }
      default:
        return '';
    }
  }

  // judge shows what is wrong, or takes away what was.
  judge() {
    const { fault, id, box, inputs } = this;
    let p = document.getElementById(`${id}-problem`);
    if (fault && !p) {
      p = Object.assign(document.createElement('p'), { className: 'msg', id: `${id}-problem` });
      p.setAttribute('aria-live', 'polite');
      (box.querySelector('.fold, .pick, .slide') ?? (box.matches('.yes') ? null : inputs[0]))?.before(p);
    }
    box.classList.toggle('bad', Boolean(fault));
    inputs[0].setCustomValidity(fault);
    const described = box.matches('fieldset') ? box : inputs[0];
    const ids = new Set((described.getAttribute('aria-describedby') ?? '').split(' ').filter(Boolean));
    if (fault) {
      p.textContent = fault;
      ids.add(p.id);
    } else {
      p?.remove();
      ids.delete(`${id}-problem`);
    }
    if (ids.size) described.setAttribute('aria-describedby', [...ids].join(' '));
    else described.removeAttribute('aria-describedby');
    if (described === inputs[0]) {
      if (fault) described.setAttribute('aria-invalid', 'true');
      else described.removeAttribute('aria-invalid');
    }
    return !fault;
  }
}

function holds({ op, field, in: wanted, of }, fields) {
  switch (op) {
    case 'present': return fields.get(field).values.length > 0;
    case 'not': return !holds(of[0], fields);
    case 'all': return of.every((c) => holds(c, fields));
    case 'any': return of.some((c) => holds(c, fields));
    default: return fields.get(field).has(wanted);
  }
}

function followAll(fields) {
  // No field depends on itself, so this ends after as many rounds as there
  // are fields that depend on each other.
  for (let again = true; again;) {
    again = false;
    for (const f of fields.values()) again = f.follow(fields) || again;
  }
}

// ---- the page of a question

const pause = 300; // milliseconds

function answerPage() {
  const fields = new Map([...ask.querySelectorAll('[data-rule]')].map((box) => new Field(box)).map((f) => [f.id, f]));
  ask.querySelectorAll('.when').forEach((p) => { p.hidden = true; }); // it is seen now
  if ('fresh' in ask.dataset) {
    if (loadDraft()) tell('What you typed here before is back. Secrets are not kept.');
  } else {
    saveDraft();
  }
  followAll(fields);

  const fieldOf = (e) => fields.get(e.name);
  ask.addEventListener('input', (event) => {
    saveDraft();
    followAll(fields);
    const f = fieldOf(event.target);
    if (f?.rule.trigger === 'on_change') judgeLater(f);
    else if (f?.box.classList.contains('bad') && !f.fault) f.judge();
  });
  // Words that appear move what is below them: not while somebody presses it.
  let pressing = false;
  const waiting = new Set();
  const judge = (f) => (pressing ? waiting.add(f) : f.judge());
  ask.addEventListener('pointerdown', () => { pressing = true; });
  for (const end of ['pointerup', 'pointercancel']) {
    addEventListener(end, () => setTimeout(() => {
      pressing = false;
      waiting.forEach((f) => f.judge());
      waiting.clear();
    }));
  }

  // on_change: a field is judged while it changes, once that has paused.
  const due = new Map();
  const judgeLater = (f) => {
    clearTimeout(due.get(f));
    due.set(f, setTimeout(() => judge(f), f.rule.debounce ?? pause));
  };

  // A person who ticks the first of several has not finished.
  const several = (f) => f?.rule.type === 'multi_select';
  const touched = new Set();
  ask.addEventListener('change', ({ target }) => {
    const f = fieldOf(target);
    if (!f || f.rule.trigger === 'on_submit' || f.rule.trigger === 'on_change') return;
    if (several(f)) touched.add(f);
    else judge(f);
  });
  ask.addEventListener('focusout', ({ target, relatedTarget }) => {
    const f = [...fields.values()].find(({ box }) => box.contains(target));
    if (!f || f.box.contains(relatedTarget)) return;
    if (f.rule.trigger === 'on_blur' || (several(f) && touched.has(f))) judge(f);
  });

  let sending = 0;
  const ready = () => {
    clearTimeout(sending);
    sending = 0;
    ask.classList.remove('sending');
    ask.querySelectorAll('button[aria-disabled]').forEach((e) => e.removeAttribute('aria-disabled'));
  };
  ask.addEventListener('submit', (event) => {
    if (sending) {
      event.preventDefault();
      return;
    }
    const button = event.submitter;
    if (button?.hasAttribute('formaction') && secrets().length) {
      event.preventDefault(); // a secret would not come back with the page
      extend(button);
      return;
    }
    // What is seen to be wrong here costs no attempt, and no secret.
    if (button?.value === 'accept') {
      const wrong = [...fields.values()].filter((f) => f.inputs.length && !f.judge());
      if (wrong.length) {
        event.preventDefault();
        const fold = wrong[0].box.querySelector('.fold');
        if (fold) fold.open = true; // what is folded up takes no focus
        wrong[0].inputs[0].focus();
        return;
      }
    }
    sending = setTimeout(ready, 10_000); // it may have been stopped
    ask.classList.add('sending');
    button?.setAttribute('aria-disabled', 'true');
  });
  addEventListener('pageshow', (event) => event.persisted && ready());
}

// extend asks for more time without leaving the page, and leaves it where that
// does not work.
async function extend(button) {
  try {
    const body = new URLSearchParams({ token: ask.elements.token.value });
    const page = await load(button.getAttribute('formaction'), { method: 'POST', body });
    document.getElementById('clock').replaceWith(page.getElementById('clock'));
    runClock();
    document.querySelector('#clock button')?.focus();
    tell('You have more time.');
  } catch {
    for (const e of secrets()) {
      if (tickable(e)) e.checked = false;
      else e.value = '';
    }
    ask.requestSubmit(button);
  }
}

// load gives a page of ours.
async function load(path, how) {
  const response = await fetch(path, { ...how, redirect: 'error', credentials: 'same-origin' });
  if (!response.ok) throw new Error(String(response.status));
  return new DOMParser().parseFromString(await response.text(), 'text/html');
}

// ---- the time that is left

const far = 2 * 3600; // seconds, from which on people want to know the hour
let ticking = 0;

function runClock() {
  const clock = document.getElementById('clock');
  clearInterval(ticking);
  if (!clock) return;
  const time = clock.querySelector('time');
  const until = new Date(time.dateTime);
  const end = Date.now() + Number(clock.dataset.left) * 1000; // the clock here may be wrong
  const said = Object.assign(document.createElement('span'), { className: 'vh' });
  said.setAttribute('role', 'status');
  clock.append(said);
  const tick = () => {
    const left = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    const late = left < Number(clock.dataset.warn);
    time.textContent = left ? `${span(left)} left${left < far ? '' : `, until ${hour(until)}`}` : 'The time is up';
    clock.classList.toggle('late', late);
    if (late && left && !said.textContent) said.textContent = `Only ${span(left)} left.`;
    if (!left) {
      clock.querySelector('button')?.remove();
      said.textContent = 'The time for this question is up.';
      clearInterval(ticking);
    }
  };
  tick();
  ticking = setInterval(tick, 1000);
}

function span(seconds) {
  const of = (n, unit) => `${n} ${unit}${n === 1 ? '' : 's'}`;
  if (seconds >= 48 * 3600) return of(Math.floor(seconds / 86400), 'day');
  if (seconds >= far) return of(Math.floor(seconds / 3600), 'hour');
  if (seconds >= 120) return of(Math.floor(seconds / 60), 'minute');
  if (seconds >= 60) return `1 min ${seconds - 60} s`;
  return of(seconds, 'second');
}

const hour = (date) => date.toLocaleString([], {
  hour: '2-digit', minute: '2-digit',
  ...(date.toDateString() === new Date().toDateString() ? {} : { day: 'numeric', month: 'long' }),
});

// ---- the list of questions

const between = 15_000;

function watchInbox() {
  const news = document.getElementById('news');
  let due = 0;
  const look = async () => {
    clearTimeout(due);
    if (document.visibilityState !== 'visible') return;
    try {
      const page = await load('/');
      const now = document.getElementById('inbox');
      const next = page.getElementById('inbox');
      const focused = now.contains(document.activeElement) ? document.activeElement.id : '';
      const more = Number(next.dataset.count) - Number(now.dataset.count);
      now.replaceWith(next);
      if (focused) (document.getElementById(focused) ?? document.getElementById('refresh')).focus();
      document.title = page.title;
      if (more) news.textContent = next.querySelector('h1').textContent;
      due = setTimeout(look, between);
    } catch {
      news.textContent = ''; // the link to refresh is still there
    }
  };
  due = setTimeout(look, between);
  document.addEventListener('visibilitychange', look);
}

if (over) store((s) => s.removeItem(draftKey));
document.querySelector('form[action="/signout"]')?.addEventListener('submit', forgetDrafts);
if (ask) answerPage();
runClock();
if (inbox) watchInbox();
