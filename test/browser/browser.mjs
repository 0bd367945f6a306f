// Drives Chromium for the tests. It reads one command per line, as JSON, and
// answers each with one line: {"ok": ...} or {"error": "..."}. A command has
// the member "do", which names an entry of the table below, mostly "page",
// the name of a tab, and what that entry takes. Tabs of different people are
// in browser contexts of their own and share nothing.
//
// The arguments are the path of Chromium and the directory for screenshots.
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [executablePath, shots] = process.argv.slice(2);
const widths = [390, 1280];
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
const tabs = new Map();

// adopt gives a page a name, and keeps what its console complains of. That a
// page itself came with an error status is no complaint: some must.
function adopt(name, page) {
  const tab = { page, faults: [] };
  page.setDefaultTimeout(20_000);
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

const table = {
  // person: a new browser context with one tab
  person: async ({ page }) => adopt(page, await (await browser.newContext()).newPage()),
  go: async ({ page, url }) => seen(page, await page.goto(url, { waitUntil: 'load' })),
  reload: async ({ page }) => seen(page, await page.reload({ waitUntil: 'load' })),
  back: async ({ page }) => seen(page, await page.goBack({ waitUntil: 'load' })),
  look: async ({ page }) => seen(page),
  press: async ({ page, ...at }) => moved(page, () => element(page, at).click()),
  // tap: press what leads to no other page
  tap: async ({ page, ...at }) => element(page, at).click(),
  fill: async ({ page, label, value }) => page.getByLabel(label, { exact: true }).fill(value),
  check: async ({ page, label }) => page.getByLabel(label, { exact: true }).check(),
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
  cookies: async ({ page }) => page.context().cookies(),
  // forget: end the session at the provider
  forget: async ({ page }) => page.context().clearCookies({ name: /^_session/ }),
  // widen and embed break a page, to show that shoot and faults notice
  widen: async ({ page }) => page.evaluate(() => { document.querySelector('main').style.minWidth = '3000px'; }),
  embed: async ({ page }) => page.evaluate(() => new Promise((done) => {
    addEventListener('securitypolicyviolation', done, { once: true });
    document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.com/x.png' }));
  })),
  // shoot: a picture at each width; gives the widths at which it scrolls sideways
  shoot: async ({ page, name }) => {
    const wide = [];
    for (const width of widths) {
      await page.setViewportSize({ width, height: 844 });
      await page.screenshot({ path: join(shots, `${name}-${width}.png`), fullPage: true });
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(width);
    }
    return wide;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { do: what, page: name, ...rest } = JSON.parse(line);
  const tab = tabs.get(name);
  let answer;
  try {
    if (what === 'person') answer = await table.person({ page: name });
    else if (what === 'faults') answer = tab.faults.splice(0);
    else answer = await table[what]({ page: tab.page, ...rest });
    console.log(JSON.stringify({ ok: answer ?? null }));
  } catch (err) {
    console.log(JSON.stringify({ error: `${what} ${JSON.stringify(rest)}: ${err.message}` }));
  }
}
await browser.close();
