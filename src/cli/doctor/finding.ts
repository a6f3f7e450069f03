import type { Config } from '../../config/config.ts';

export interface Finding {
  status: 'ok' | 'warning' | 'problem';
  /** One sentence: the fact, or what is wrong. */
  message: string;
  /** One sentence: what to do. Null: nothing. */
  remedy: string | null;
}

/** Several findings in any nesting; false: none. */
export type Findings = Finding | false | readonly Findings[];

export type Check = (config: Config, signal: AbortSignal) => Findings | Promise<Findings>;

export const ok = (message: string): Finding => ({ status: 'ok', message, remedy: null });
export const warning = (message: string, remedy: string): Finding => ({ status: 'warning', message, remedy });
export const problem = (message: string, remedy: string): Finding => ({ status: 'problem', message, remedy });

export const listOf = (found: Findings): Finding[] => {
  if (found === false) return [];
  return 'status' in found ? [found] : found.flatMap(listOf);
};

/** Returns the findings with a problem or warning; the fact where there are none. */
export const orOk = (findings: Findings, fact: string): Findings =>
  listOf(findings).length === 0 ? ok(fact) : findings;

/** Leases of jobs and proofs of payments break at such a difference. */
const brokenClockMs = 30_000;
const worryingClockMs = 3_000;

/** Compares this machine's clock with another one. `aheadMs`: how far the other one is ahead. */
export const judgeClock = (whose: string, aheadMs: number): Finding | false => {
  const distance = Math.abs(aheadMs);
  if (distance < worryingClockMs) return false;
  const say = distance < brokenClockMs ? warning : problem;
  return say(
    `This machine's clock is ${Math.round(distance / 1_000)} s ${aheadMs > 0 ? 'behind' : 'ahead of'} ${whose}.`,
    'Synchronize the clocks with NTP (timedatectl set-ntp true).',
  );
};

/** As `judgeClock`, by the Date header of an answer, which counts whole seconds. */
export const judgeDateHeader = (whose: string, date: unknown): Finding | false => {
  const told = Date.parse(String(date));
  return Number.isNaN(told) ? false : judgeClock(whose, told + 500 - Date.now());
};

const slowWriteMs = 100;

/** Judges how long one durable write took. `write` names it, such as "A durable write to PostgreSQL". */
export const judgeWrite = (write: string, tookMs: number, remedy: string): Finding => {
  const fact = `${write} took ${Math.ceil(tookMs)} ms`;
  return tookMs < slowWriteMs
    ? ok(`${fact}.`)
    : warning(`${fact}, and paid requests wait for such writes.`, remedy);
};
