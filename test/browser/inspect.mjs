// What every page is held to: it fits, axe-core has nothing to say against it
// in either colour scheme, and its accessibility tree is known. On the way
// pictures are taken.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const height = 844;

export async function inspect(page, shots, name) {
  const faults = await misfits(page, [320, 390, 1280]);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const width of [390, 1280]) {
      await whole(page, width);
      const scheme = colorScheme === 'dark' ? '-dark' : '';
      await page.screenshot({ path: join(shots, `${name}-${width}${scheme}.png`), animations: 'disabled', caret: 'hide' });
      if (width === 390) faults.push(...(await violations(page)).map((v) => `${colorScheme}: ${v}`));
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return { faults, tree: await page.locator('body').ariaSnapshot() };
}

// whole makes the window as high as what is on the page: a picture of more than
// the window has what sticks to its end in the middle.
async function whole(page, width) {
  await page.setViewportSize({ width, height });
  // Twice, because what sticks to the end of a small window has its place
  // only in a larger one.
  for (let i = 0; i < 2; i++) await grow(page, width);
  await page.evaluate(() => scrollTo(0, 0));
}

async function grow(page, width) {
  const end = await page.evaluate(() => scrollY + Math.max(...[...document.querySelector('main').children].map((e) => e.getBoundingClientRect().bottom)));
  await page.setViewportSize({ width, height: Math.ceil(end) + 32 });
}

async function violations(page) {
  await page.evaluate(axe);
  const result = await page.evaluate((values) => globalThis.axe.run(document, { runOnly: { type: 'tag', values }, resultTypes: ['violations'] }), tags);
  return result.violations.map((v) => `axe ${v.id}: ${v.help} (${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join('; ')})`);
}

// misfits says what does not fit at some widths: a page that scrolls sideways,
// what is too small to be hit, a button that is covered or cut off.
export async function misfits(page, widths) {
  const faults = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height });
    faults.push(...(await page.evaluate(look)).map((f) => `${width} px: ${f}`));
  }
  return faults;
}

function look() {
  const least = 24;
  const faults = [];
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) faults.push(`the page is ${wide} px wide and scrolls sideways`);
  const before = scrollY;
  for (const e of document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary')) {
    // What is ticked is ticked by its words as well.
    const target = e.matches('.pick input') ? e.closest('label') : e;
    const words = (e.labels?.[0] ?? e).textContent.replace(/\s+/g, ' ').trim();
    if (!target.checkVisibility()) continue;
    target.scrollIntoView({ block: 'center' });
    const box = target.getBoundingClientRect();
    if (box.width < least || box.height < least) faults.push(`“${words}” is ${box.width} by ${box.height} px`);
    if (box.left < 0 || box.right > innerWidth) faults.push(`“${words}” is cut off by the edge`);
    if (!e.matches('button, a, summary')) continue;
    if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline') faults.push(`the words of “${words}” are cut off`);
    const at = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    if (!target.contains(at)) faults.push(`“${words}” is covered`);
  }
  scrollTo(0, before);
  return faults;
}
