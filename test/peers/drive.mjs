// What the clients have in common: they take a plan, do its jobs at each of
// its targets, and print what they saw as their last line.
//
// The plan is a JSON array of {url | command, era, mute, anew, jobs}; a mute
// client declares nothing that it could be asked, and one that begins anew has
// a session of its own for each call. A job is one of
//   {call, args, form, url}        call a tool; form and url are the answers to questions
//   {call, args, times}            call it so many times at once; the contents are put together
//   {call, args, cancel: true}     call a tool and cancel the call at its first progress
//                                  with a limit in milliseconds, where one is given
//   {exists}                       wait for a file
//   {await}                        wait for a note or a question that contains the text
//   {visit}                        go to the address that the last error asked for
//   {level}, {subscribe}, {unsubscribe}, {roots}
// An answer is {action, content}. With echo, its content is the question's
// message; with after, it takes that many milliseconds, unless the question is
// withdrawn; with together, it waits until that many are open; with visit, the
// client goes to the address before it answers, or after. An answer "hang" is
// never given; the client prints "asked" instead. The answer of the client's
// model takes the milliseconds of the job's sample.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const patience = 20_000;

// drive runs the plan; connect makes the connected session of one target:
// it is given the target and the handlers, and gives the calls that differ
// between SDKs.
export async function drive(connect) {
  const reports = [];
  for (const target of JSON.parse(process.argv[2])) reports.push(await visit(target, connect));
  console.log(JSON.stringify(reports));
}

const failure = (e) => ({ kind: e.constructor?.name, code: e.code, message: e.message ?? String(e), data: e.data });

function call(session, job, progress) {
  const cancel = new AbortController();
  const onprogress = (p) => {
    progress.push(p.progress);
    if (job.cancel) cancel.abort('enough');
  };
  const once = () => session.call({ name: job.call, arguments: job.args ?? {} }, { timeout: job.limit ?? patience, signal: cancel.signal, onprogress });
  if (!job.times) return once();
  return Promise.all(Array.from({ length: job.times }, once)).then((all) => ({
    isError: all.some((r) => r.isError),
    content: all.flatMap((r) => r.content),
  }));
}

async function exists(file, limit) {
  for (const end = Date.now() + limit; !existsSync(file); await sleep(20)) {
    if (Date.now() > end) throw new Error(`there is no ${file}`);
  }
}

async function visit(target, connect) {
  const report = { era: '', version: '', tools: [], results: [], notes: [] };
  let asked = [];
  let job = {};
  let roots = [{ uri: 'file:///project', name: 'project' }];
  let wake = () => {};
  const seen = (list, what) => {
    list.push(what);
    wake();
  };
  const go = (url) => fetch(url).catch((e) => seen(report.notes, `visit: ${e.message}`));
  // pause waits as somebody thinks, unless the question is withdrawn.
  const pause = (ms, message, signal) => ms && sleep(ms, undefined, { signal }).catch(() => seen(report.notes, `withdrawn ${message}`));
  let open = 0;
  const answer = async (given, { message, url }, signal) => {
    if (given === 'hang') {
      console.log('asked');
      return new Promise(() => {});
    }
    const { action, content, echo, after, together, visit } = given;
    if (visit === 'before') await go(url);
    if (visit === 'after') setTimeout(() => go(url), 50);
    await pause(after, message, signal);
    for (open++; open < together; ) await sleep(5);
    return { action, ...(echo ? { content: { name: message } } : content && { content }) };
  };
  const handlers = {
    elicit: async (question, signal) => {
      const { mode, message, url, requestedSchema } = question;
      seen(asked, mode === 'url' ? `url ${message} ${url}` : `form ${message} ${Object.keys(requestedSchema.properties).sort()}`);
      return answer(mode === 'url' ? job.url ?? { action: 'accept' } : job.form ?? { action: 'accept', content: {} }, question, signal);
    },
    sample: async ({ messages, maxTokens }, signal) => {
      const prompt = [messages[0].content].flat()[0].text;
      seen(asked, `sampling ${prompt} ${maxTokens}`);
      await pause(job.sample, prompt, signal);
      return { role: 'assistant', model: 'stub-model', stopReason: 'endTurn', content: { type: 'text', text: 'Paris' } };
    },
    roots: async () => {
      seen(asked, 'roots');
      return { roots };
    },
    log: ({ level, data }) => seen(report.notes, `log ${level} ${data}`),
    updated: ({ uri }) => seen(report.notes, `updated ${uri}`),
    complete: ({ elicitationId }) => seen(report.notes, `complete ${elicitationId}`),
  };
  const contains = (text) => {
    const { promise, resolve, reject } = Promise.withResolvers();
    const timer = setTimeout(() => reject(new Error(`"${text}" did not come`)), job.limit ?? patience);
    wake = () => [...report.notes, ...asked].some((s) => s.includes(text)) && resolve();
    wake();
    return promise.finally(() => clearTimeout(timer));
  };

  let session;
  try {
    session = await connect(target, handlers);
    Object.assign(report, session.negotiated());
    report.tools = (await session.client.listTools()).tools.map((t) => t.name);
  } catch (e) {
    await session?.client.close();
    return { ...report, error: failure(e) };
  }
  for (job of target.jobs) {
    open = 0;
    const entry = { job: job.call ?? Object.keys(job)[0], asked, progress: [] };
    try {
      if (job.call && target.anew && report.results.length > 0) session = await connect(target, handlers);
      if (job.call) entry.result = await call(session, job, entry.progress);
      if (job.exists) await exists(job.exists, job.limit ?? patience);
      if (job.await) await contains(job.await);
      if (job.visit) await fetch(report.results.at(-1).error.data.elicitations[0].url);
      if (job.level) await session.client.setLoggingLevel(job.level);
      if (job.subscribe) await session.client.subscribeResource({ uri: job.subscribe });
      if (job.unsubscribe) await session.client.unsubscribeResource({ uri: job.unsubscribe });
      if (job.roots) {
        roots = job.roots;
        await session.client.sendRootsListChanged();
      }
    } catch (e) {
      entry.error = failure(e);
    }
    if (target.anew) await session.client.close();
    report.results.push(entry);
    if (!job.roots) asked = []; // the question that a change of roots brings belongs to the await that follows
  }
  await session.client.close();
  return report;
}
