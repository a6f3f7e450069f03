import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { systemClock } from '../../src/kit/clock.ts';
import { isJsonObject, type JsonObject } from '../../src/kit/json.ts';
import { silentLog, type Log } from '../../src/kit/log.ts';
import { checkTool } from '../../src/mounts/check-tool.ts';
import { createMounts, type Mounts } from '../../src/mounts/create-mounts.ts';
import type { MountConfig, MountTarget } from '../../src/mounts/mount-settings.ts';
import type { Store } from '../../src/store/store.ts';
import { openTestStoreHere } from '../operator/open-test-store-here.ts';
import { mountConfig, programTarget } from './mount-config.ts';
import { hostileProgram } from './mount-yaml.ts';

/** The settings of a program. By default it is the hostile server without a sandbox. */
export const programConfig = (
  name: string,
  target: Partial<Extract<MountTarget, { kind: 'stdio' }>> = {},
  more: Partial<MountConfig> = {},
): MountConfig => mountConfig(name, { ...programTarget(hostileProgram), ...target }, more);

const usualTimes = {
  firstRestMs: 20,
  longestRestMs: 200,
  forgivenAfterMs: 60_000,
  relistMs: 300_000,
  leastRelistMs: 20,
  idleMs: 300_000,
};

export interface StartMountsOptions {
  store?: Store;
  log?: Log;
  dataDir?: string;
  keys?: string[];
  maxToolProcesses?: number;
  /** How long a call may be silent, and the server of an account idle. */
  silenceMs?: number;
  idleMs?: number;
}

/** Mounts servers until the test ends. */
export const startMounts = async (
  configs: MountConfig[],
  {
    store,
    log = silentLog,
    dataDir = makeFolder(),
    keys = [],
    maxToolProcesses = 16,
    silenceMs = 20_000,
    idleMs = usualTimes.idleMs,
  }: StartMountsOptions = {},
): Promise<Mounts> => {
  const mounts = createMounts({
    config: {
      mounts: configs.map((config) => ({
        ...config,
        timeouts: { answerMs: 20_000, silenceMs, totalMs: 2 * silenceMs },
      })),
      brand: 'causeway',
      dataDir,
      toolSecretKeys: keys,
      maxToolProcesses,
    },
    store: store ?? (await openTestStoreHere()),
    outbound: { send: () => Promise.reject(new Error('nothing is sent here')) },
    publicUrl: () => 'http://127.0.0.1:1',
    clock: systemClock,
    log,
    version: '1',
    times: { ...usualTimes, idleMs },
  });
  mounts.begin();
  onTestFinished(() => mounts.close());
  return mounts;
};

/** A folder that is removed when the test ends. */
export const makeFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'causeway-mounts-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** The pin of a tool of the hostile server. */
export const pinOf = (name: string): string => {
  const inputSchema = { type: 'object', properties: {} };
  return checkTool({ name, description: `Does ${name}.`, inputSchema }, name).pin ?? '';
};

export const caller =
  (mounts: Mounts, server = 'hostile', accountId = 'account') =>
  (tool: string, pin = pinOf(tool), input: JsonObject = {}) =>
    mounts.call({ server, tool, pin, accountId }, input, { signal: new AbortController().signal });

export const whenReady = (call: ReturnType<typeof caller>): Promise<void> =>
  expect.poll(async () => (await call('echo')).kind, { timeout: 60_000 }).toBe('answered');

/** The text that the hostile server answers. */
export const textOf = async (outcome: ReturnType<ReturnType<typeof caller>>): Promise<string> => {
  const answered = await outcome;
  const [item] = answered.kind === 'answered' ? [answered.result['content']].flat() : [];
  const text = isJsonObject(item) ? item['text'] : null;
  return typeof text === 'string' ? text : answered.kind;
};

export const isAlive = (pid: number): boolean => {
  try {
    // A zombie has ended, and waits to be reaped.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};
