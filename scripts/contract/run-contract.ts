import { allChecks } from './all-checks.ts';
import { startCallbackReceiver } from './callback-receiver.ts';
import type { Check } from './check.ts';
import { Mismatch, Skipped } from './outcomes.ts';
import { createClient } from './client.ts';
import { expectJson } from './assertions.ts';
import { probeServices } from './probe-services.ts';
import { isRecord, type JsonRecord } from './shapes.ts';
import { createSuite, type Suite, type SuiteSettings } from './suite.ts';
import { fromNano, toNano } from './usd.ts';

export interface ContractOptions extends SuiteSettings {
  /** The ids of the checks to run; null for all. */
  only: readonly string[] | null;
  /** The spending limit, in dollars. */
  allowSpendUsd: string;
  webhook: { host: string; port: number; publicUrl: string | null } | null;
  checksAtOnce: number;
  requestsPerSecond: number;
  callTimeoutMs: number;
  checkTimeoutMs: number;
  /** Limit for the whole run. Checks that have not begun by then fail. */
  runTimeoutMs: number;
  /** Called with each result. */
  onResult?: (result: CheckResult) => void;
}

export interface CheckResult {
  id: string;
  title: string;
  outcome: 'passed' | 'failed' | 'skipped';
  /** The observation of a failure or the reason for skipping; null if passed. */
  reason: string | null;
  durationMs: number;
}

export interface ContractReport {
  baseUrl: string;
  results: CheckResult[];
  passed: number;
  failed: number;
  skipped: number;
  /** The fall of the balance, negative if it rose; null if it could not be read. */
  spentUsd: string | null;
}

/** Checks a server against every rule of the contract, over the network alone. Throws Error if it cannot begin. */
export const runContract = async (options: ContractOptions): Promise<ContractReport> => {
  const checks = chooseChecks(options.only);
  const client = createClient({
    baseUrl: options.baseUrl,
    apiKey: options.apiKey,
    timeoutMs: options.callTimeoutMs,
    requestsPerSecond: options.requestsPerSecond,
  });
  const models = readModels(await client.call('/v1/models').then((answer) => expectJson(answer, 200)));
  const serves = await probeServices(client);
  const before = await readBalance(client);
  const receiver = options.webhook === null ? null : await startCallbackReceiver(options.webhook);
  try {
    const suite = createSuite({
      client,
      settings: options,
      serves,
      models,
      receiver,
      allowedNano: toNano(options.allowSpendUsd),
    });
    const results = await runAll(checks, suite, options);
    const after = await readBalance(client);
    const countOf = (outcome: CheckResult['outcome']): number =>
      results.filter((result) => result.outcome === outcome).length;
    return {
      baseUrl: options.baseUrl,
      results,
      passed: countOf('passed'),
      failed: countOf('failed'),
      skipped: countOf('skipped'),
      spentUsd: before === null || after === null ? null : fromNano(before - after),
    };
  } finally {
    await receiver?.close();
  }
};

const chooseChecks = (only: readonly string[] | null): readonly Check[] => {
  if (only === null) return allChecks;
  const unknown = only.find((id) => !allChecks.some((check) => check.id === id));
  if (unknown !== undefined) throw new Error(`unknown check ${unknown}`);
  return allChecks.filter(({ id }) => only.includes(id));
};

const readModels = (body: JsonRecord): JsonRecord[] =>
  Array.isArray(body['data']) ? (body['data'] as unknown[]).filter(isRecord) : [];

const readBalance = async (client: Pick<Suite, 'call'>): Promise<bigint | null> => {
  const { status, json } = await client.call('/v1/balance');
  return status === 200 && isRecord(json) ? toNano(json['balance_usd']) : null;
};

/** Runs ordinary checks concurrently, then exclusive ones one by one. Returns results in check order. */
const runAll = async (
  checks: readonly Check[],
  suite: Suite,
  options: ContractOptions,
): Promise<CheckResult[]> => {
  const results = new Map<string, CheckResult>();
  const endsAt = performance.now() + options.runTimeoutMs;
  const runOne = async (check: Check): Promise<void> => {
    const timeoutMs = Math.max(0, Math.min(options.checkTimeoutMs, endsAt - performance.now()));
    const result = await runCheck(check, suite, { ...options, timeoutMs });
    results.set(check.id, result);
    options.onResult?.(result);
  };
  const waiting = checks.filter(({ isExclusive }) => isExclusive !== true);
  const worker = async (): Promise<void> => {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) await runOne(check);
  };
  await Promise.all(Array.from({ length: options.checksAtOnce }, worker));
  for (const check of checks) if (check.isExclusive === true) await runOne(check);
  return checks.flatMap(({ id }) => results.get(id) ?? []);
};

const runCheck = async (
  check: Check,
  suite: Suite,
  { timeoutMs, apiKey, otherKey, poorKey }: ContractOptions & { timeoutMs: number },
): Promise<CheckResult> => {
  const startedAt = performance.now();
  const { id, title } = check;
  const end = (outcome: CheckResult['outcome'], reason: string | null): CheckResult => ({
    id,
    title,
    outcome,
    reason: reason === null ? null : hideSecrets(reason, [apiKey, otherKey, poorKey]),
    durationMs: Math.round(performance.now() - startedAt),
  });
  const unmet = suite.unmet(check.needs ?? []);
  if (unmet !== null) return end('skipped', unmet);
  if (timeoutMs === 0) return end('failed', 'not checked: the time limit of the run is over');
  let timer: NodeJS.Timeout | undefined;
  const tooLong = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Mismatch(`not finished within ${Math.round(timeoutMs / 1000)} s`)),
      timeoutMs,
    );
  });
  try {
    await Promise.race([check.run(suite), tooLong]);
    return end('passed', null);
  } catch (error) {
    if (error instanceof Skipped) return end('skipped', error.message);
    // Any other error is a broken answer that the check did not foresee, so it is a failure of the server too.
    return end('failed', error instanceof Error ? error.message : String(error));
  } finally {
    clearTimeout(timer);
  }
};

const hideSecrets = (text: string, keys: readonly (string | null)[]): string =>
  keys
    .filter((key) => key !== null)
    .reduce((shown, key) => shown.replaceAll(key, 'sk_…'), text)
    .replace(/whsec_[A-Za-z0-9+/=]+/g, 'whsec_…');
