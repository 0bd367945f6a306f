// mcpdo, many commands in one process, because each would take a second to
// start. Its argument is the script of mcpdo. Each line of standard input is
// {id, args, terminal}: the words of a command, and whether it has a terminal,
// at which SIGINT takes the call along that it waits for. Each is answered by
// a line {id, out, error}: what it printed, and how it failed.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const { runMcp } = await import(pathToFileURL(process.argv[2]));
const print = process.stdout.write.bind(process.stdout);
const command = new AsyncLocalStorage();
process.stdout.write = (text, ...rest) => {
  const c = command.getStore();
  if (c) c.out += text;
  rest.at(-1)?.();
  return true;
};

process.on('SIGINT', () => {}); // the command ends at it, not this process

for await (const line of createInterface({ input: process.stdin })) {
  const { id, args, terminal } = JSON.parse(line);
  const c = { id, out: '' };
  process.stderr.isTTY = terminal;
  command
    .run(c, () => runMcp(['node', 'mcpdo', ...args]))
    .catch((e) => (c.error = e.message))
    .then(() => print(`${JSON.stringify(c)}\n`));
}
