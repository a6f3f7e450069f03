import { writeSync } from 'node:fs';
import { interceptRequests } from '../../http/intercept-requests.ts';

/**
 * Loaded into a process ahead of its program: kills it at the request that KILL_AT names, such as
 * `before sendTransaction` or `after eth_call 2`, where a method is counted from its second time on.
 */
const { KILL_AT: killAt } = process.env;
const counts = new Map<string, number>();

const pass = (step: string): void => {
  if (step !== killAt) return;
  writeSync(2, `killed ${step}\n`);
  process.kill(process.pid, 'SIGKILL');
};

const nameOf = (body: string): string => {
  const call: unknown = body === '' ? null : JSON.parse(body);
  const method =
    typeof call === 'object' && call !== null && 'method' in call ? String(call.method) : 'request';
  const count = (counts.get(method) ?? 0) + 1;
  counts.set(method, count);
  return count === 1 ? method : `${method} ${count}`;
};

interceptRequests(async ({ body }, send) => {
  const name = nameOf(body);
  pass(`before ${name}`);
  const answer = await send();
  pass(`after ${name}`);
  return answer;
});
