// Drives Chromium for the tests. It reads one command per line, as JSON, and
// answers each with one line that has the command's number: {"n", "ok": ...}
// or {"n", "error": "..."}. A command has the member "do", which names an entry
// of the table below, mostly "page", the name of a tab, and what that entry
// takes. Commands run at once; whoever sends them waits where order matters.
// Tabs of different people are in browser contexts of their own and share
// nothing.
//
// The arguments are the path of Chromium and the directory for screenshots.
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';
import { inspect, misfits } from './inspect.mjs';

const [executablePath, shots] = process.argv.slice(2);
const patience = 30_000;
const tabs = new Map();
const browsers = new Map();

// browser gives the browser, or another one whose user has set text to twice
// the usual size.
function browser(large) {
  const args = ['--no-sandbox', '--disable-dev-shm-usage', ...(large ? ['--blink-settings=defaultFontSize=32'] : [])];
  if (!browsers.has(large)) browsers.set(large, chromium.launch({ executablePath, args }));
  return browsers.get(large);
}

// adopt gives a page a name, and keeps what its console complains of. That a
// page itself came with an error status is no complaint: some must.
function adopt(name, page) {
  const tab = { page, faults: [] };
  page.setDefaultTimeout(patience);
  page.on('pageerror', (err) => tab.faults.push(`${page.url()}: ${err}`));
  page.on('console', (message) => {
    const itself = message.text().startsWith('Failed to load resource') && message.location().url === page.url();
    if (['error', 'warning'].includes(message.type()) && !itself) tab.faults.push(`${page.url()}: ${message.text()}`);
  });
  tabs.set(name, tab);
}

// seen is what a person sees after a navigation, and what came with it.
async function seen(page, response) {
  return {
    url: page.url(),
    status: response?.status() ?? 0,
    headers: (await response?.allHeaders()) ?? {},
    title: await page.title(),
    text: await page.locator('body').innerText(),
    html: await page.content(),
    body: response ? await response.text().catch(() => '') : '',
  };
}

// moved does something that leads to another page, and gives what is there.
async function moved(page, action) {
  const [response] = await Promise.all([page.waitForNavigation({ waitUntil: 'load' }), action()]);
  return seen(page, response);
}

const element = (page, { role, name }) => page.getByRole(role, { name, exact: true });
const labelled = (page, label) => page.getByLabel(label, { exact: true });

const table = {
  go: async ({ page, url }) => seen(page, await page.goto(url, { waitUntil: 'load' })),
  reload: async ({ page }) => seen(page, await page.reload({ waitUntil: 'load' })),
  back: async ({ page }) => seen(page, await page.goBack({ waitUntil: 'load' })),
  look: async ({ page }) => seen(page),
  press: async ({ page, ...at }) => moved(page, () => element(page, at).click()),
  // tap: press what leads to no other page; twice: as people do who are in doubt
  tap: async ({ page, ...at }) => element(page, at).click(),
  twice: async ({ page, ...at }) => moved(page, () => element(page, at).dblclick()),
  fill: async ({ page, label, value }) => labelled(page, label).fill(value),
  check: async ({ page, label }) => labelled(page, label).check(),
  uncheck: async ({ page, label }) => labelled(page, label).uncheck(),
  // pick: one of the choices of a group, of which others have the same words
  pick: async ({ page, group, label }) => page.getByRole('group', { name: group, exact: true }).getByLabel(label, { exact: true }).check(),
  // touch: press what has these words, whatever it is
  touch: async ({ page, text }) => page.getByText(text, { exact: true }).first().click(),
  // drop: let go of a file of the disk over a field, as the file manager would
  drop: async ({ page, label, file }) => {
    const box = await labelled(page, label).boundingBox();
    const at = { x: box.x + box.width / 2, y: box.y + box.height - 8 };
    const session = await page.context().newCDPSession(page);
    const data = { items: [], files: [file], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop']) await session.send('Input.dispatchDragEvent', { type, ...at, data });
    await session.detach();
  },
  // has: how many elements of a role and a name assistive technology is told of
  has: async ({ page, role, name }) => page.getByRole(role, { name, exact: true }).count(),
  attribute: async ({ page, label, name }) => labelled(page, label).getAttribute(name),
  top: async ({ page, label }) => labelled(page, label).evaluate((e) => Math.round(e.closest('.f').getBoundingClientRect().top)),
  choose: async ({ page, label, value }) => labelled(page, label).selectOption({ label: value }),
  // attach: files of so many bytes each, which nobody wrote to a disk
  attach: async ({ page, label, files }) => labelled(page, label).setInputFiles(
    files.map(({ name, type, base64, head, size }) => ({
      name, mimeType: type, buffer: base64 ? Buffer.from(base64, 'base64') : Buffer.concat([Buffer.from(head), Buffer.alloc(size - head.length, '.')]),
    })),
  ),
  shut: async ({ page }) => page.close(),
  leave: async ({ page }) => page.evaluate(() => document.activeElement?.blur()),
  await: async ({ page, text }) => page.getByText(text).first().waitFor(),
  gone: async ({ page, text }) => page.getByText(text).first().waitFor({ state: 'hidden' }),
  shown: async ({ page, label }) => labelled(page, label).isVisible(),
  value: async ({ page, label }) => labelled(page, label).inputValue(),
  checked: async ({ page, label }) => labelled(page, label).isChecked(),
  describe: async ({ page, label }) => labelled(page, label).evaluate((e) => (e.getAttribute('aria-describedby') ?? '')
    .split(' ').filter(Boolean).map((id) => document.getElementById(id)?.textContent ?? `no element is called ${id}`).join(' ')),
  // key: keys of a keyboard, one after the other; enter: keys that lead to another page
  key: async ({ page, keys }) => { for (const k of keys ?? []) await page.keyboard.press(k); },
  type: async ({ page, text }) => page.keyboard.type(text),
  enter: async ({ page, keys }) => moved(page, () => table.key({ page, keys })),
  // focus: what has the focus, and whether it can be seen
  focus: async ({ page }) => page.evaluate(() => {
    const e = document.activeElement;
    const box = e.getBoundingClientRect();
    const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const words = [...(e.labels ?? [])].map((l) => l.textContent).join(' ') || e.textContent;
    const seen = e.contains(at) || [...(e.labels ?? [])].some((l) => l.contains(at));
    return { words: words.replace(/\s+/g, ' ').trim(), seen, ring: getComputedStyle(e).outlineStyle !== 'none' };
  }),
  storage: async ({ page }) => page.evaluate(() => JSON.stringify({ ...sessionStorage, ...localStorage })),
  // forward: let time pass, where the person was made with a clock
  forward: async ({ page, ms }) => page.clock.runFor(ms),
  // still: stop the clock, which otherwise runs on between commands
  still: async ({ page }) => page.clock.pauseAt(await page.evaluate(() => Date.now()) + 1_000),
  // follow: press a link that opens a tab of its own, which gets the name "as"
  follow: async ({ page, as, ...at }) => {
    const [opened] = await Promise.all([page.waitForEvent('popup'), element(page, at).click()]);
    await opened.waitForLoadState();
    adopt(as, opened);
    return seen(opened);
  },
  // post: send a form to an address, as a script of the page in the tab would
  post: async ({ page, url, fields }) => moved(page, () => page.evaluate(([url, fields]) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: url });
    for (const [name, value] of Object.entries(fields)) {
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
    }
    document.body.append(form);
    form.submit();
  }, [url, fields])),
  // frames: what is in the frames of a page
  frames: async ({ page }) => {
    await page.waitForLoadState('networkidle');
    return Promise.all(page.frames().filter((f) => f !== page.mainFrame())
      .map((f) => f.locator('body').innerText({ timeout: 2_000 }).catch(() => '')));
  },
  cookies: async ({ page }) => page.context().cookies(),
  // forget: end the session at the provider
  forget: async ({ page }) => page.context().clearCookies({ name: /^_session/ }),
  // signout: end the session at the gateway, as in another tab
  signout: async ({ page }) => page.context().clearCookies({ name: /answerback-session/ }),
  // What follows breaks a page, to show that the checks notice.
  widen: async ({ page }) => page.evaluate(() => { document.querySelector('main').style.minWidth = '3000px'; }),
  blur: async ({ page }) => page.evaluate(() => {
    document.querySelector('h1').style.color = '#eee';
    document.querySelectorAll('button, a').forEach((e) => { e.style.cssText = 'display: inline-block; min-height: 0; height: 9px; padding: 0'; });
  }),
  embed: async ({ page }) => page.evaluate(() => new Promise((done) => {
    addEventListener('securitypolicyviolation', done, { once: true });
    document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.com/x.png' }));
  })),
  misfits: async ({ page, widths }) => misfits(page, widths),
  inspect: async ({ page, name }) => inspect(page, shots, name),
};

// What is done to a tab as a whole.
const whole = {
  // person: a new browser context with one tab
  person: async ({ name, js = true, plain = false, large = false, width = 1280, height = 844, clock = false }) => {
    const context = await (await browser(large)).newContext({
      javaScriptEnabled: js, viewport: { width, height }, locale: 'en-US', timezoneId: 'UTC', reducedMotion: 'reduce',
    });
    if (plain) await context.route('**/static/*.js', (route) => route.fulfill({ contentType: 'text/javascript', body: '' }));
    if (clock) await context.clock.install();
    adopt(name, await context.newPage());
  },
  faults: async ({ name }) => tabs.get(name).faults.splice(0),
  close: async ({ name }) => {
    await tabs.get(name).page.context().close();
    tabs.delete(name);
  },
};

async function obey({ n, do: what, page: name, ...rest }) {
  try {
    const done = whole[what] ? whole[what]({ name, ...rest }) : table[what]({ page: tabs.get(name).page, ...rest });
    console.log(JSON.stringify({ n, ok: (await done) ?? null }));
  } catch (err) {
    console.log(JSON.stringify({ n, error: `${what} ${JSON.stringify(rest)}: ${err.message}` }));
  }
}

for await (const line of createInterface({ input: process.stdin })) obey(JSON.parse(line));
for (const b of browsers.values()) await (await b).close();
