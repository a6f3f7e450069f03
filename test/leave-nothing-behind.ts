import { afterAll, vi } from 'vitest';

/** Handles that keep a process alive, as Node names them. */
const lasting = new Set(['MessagePort', 'ProcessWrap', 'TCPServerWrap', 'TCPSocketWrap']);

const openHandles = (): string[] => process.getActiveResourcesInfo().filter((name) => lasting.has(name));

// Runs before each file of a process that files share.
const before = { handles: openHandles().length, environment: { ...process.env }, fetch: globalThis.fetch };

/** Names alone, because values may be secret. VIPSHOME is set by sharp when it is loaded. */
const changedVariables = (): string[] =>
  Object.keys({ ...before.environment, ...process.env }).filter(
    (name) => name !== 'VIPSHOME' && process.env[name] !== before.environment[name],
  );

const refuse = (what: string, left: readonly string[]): void => {
  if (left.length > 0) throw new Error(`the file leaves ${what} behind for the next one: ${left.join(', ')}`);
};

let looks = 0;

/** Collects garbage every two seconds: a large answer that nobody read keeps its connection until it is collected. */
const refuseHandles = (): void => {
  looks += 1;
  if (looks % 40 === 0) globalThis.gc?.();
  refuse('open handles', openHandles().slice(before.handles));
};

// Hooks run in reverse, so this is the last one of the file.
afterAll(async () => {
  await vi.waitFor(refuseHandles, { timeout: 60_000, interval: 50 });
  refuse('changed variables', changedVariables());
  refuse('a faked global', [
    ...(vi.isFakeTimers() ? ['setTimeout'] : []),
    ...(globalThis.fetch === before.fetch ? [] : ['fetch']),
  ]);
});
