import type { MountConfig, MountTarget } from '../../src/mounts/mount-settings.ts';

/** A mount as `readMounts` makes it of the least settings. */
export const mountConfig = (
  name: string,
  target: MountTarget,
  more: Partial<MountConfig> = {},
): MountConfig => ({
  name,
  target,
  allow: null,
  hide: [],
  prices: new Map(),
  harmless: [],
  perAccount: [],
  pay: null,
  isForConnections: false,
  callsPerMinute: 600,
  concurrentCalls: 32,
  tools: new Map(),
  timeouts: { answerMs: 20_000, silenceMs: 20_000, totalMs: 60_000 },
  result: { maxCharacters: 1024 ** 2, meta: [] },
  ...more,
});

/** A program that Node runs. */
export const programTarget = (...args: readonly string[]): Extract<MountTarget, { kind: 'stdio' }> => ({
  kind: 'stdio',
  command: process.execPath,
  args,
  env: {},
  sandbox: null,
});

type HttpTarget = Extract<MountTarget, { kind: 'http' }>;

/** An address of this machine. */
export const httpTarget = (url: string, more: Partial<HttpTarget> = {}): HttpTarget => ({
  kind: 'http',
  url,
  isPrivate: true,
  isSse: false,
  headers: {},
  accountHeaders: [],
  oauth: null,
  ...more,
});
