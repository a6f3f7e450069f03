import { writeSync } from 'node:fs';

/**
 * Loaded into a process ahead of its program: kills it at the request that KILL_AT names, such as
 * `before sendTransaction` or `after eth_call 2`, where a method is counted from its second time on.
 */
const { KILL_AT: killAt } = process.env;
const counts = new Map<string, number>();
const { fetch } = globalThis;

const pass = (step: string): void => {
  if (step !== killAt) return;
  writeSync(2, `killed ${step}\n`);
  process.kill(process.pid, 'SIGKILL');
};

const nameOf = (body: unknown): string => {
  const call: unknown = typeof body === 'string' ? JSON.parse(body) : null;
  const method =
    typeof call === 'object' && call !== null && 'method' in call ? String(call.method) : 'request';
  const count = (counts.get(method) ?? 0) + 1;
  counts.set(method, count);
  return count === 1 ? method : `${method} ${count}`;
};

globalThis.fetch = async (input, init) => {
  const name = nameOf(init?.body);
  pass(`before ${name}`);
  const response = await fetch(input, init);
  const text = await response.text();
  pass(`after ${name}`);
  return new Response(text, response);
};
