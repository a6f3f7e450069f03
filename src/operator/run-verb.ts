import type { z } from 'zod';
import { AppError, toAppError } from '../kit/errors.ts';
import { newId } from '../kit/ids.ts';
import { withoutKeys } from '../kit/log-request.ts';
import { createWindowCounter } from '../limits/minute-limit.ts';
import { validate } from '../operations/validate.ts';
import { StoreError } from '../store/store-error.ts';
import type { OperatorRole } from '../store/store.ts';
import type { Verb, OperatorServices } from './verb.ts';

export interface OperatorCall {
  /** `key:<id>` for an operator key, `cli:<user>` for the command line, `address:<address>` without a valid key. */
  actor: string;
  actorLabel: string | null;
  role: OperatorRole;
  requestId: string | null;
}

/** Runs a verb for HTTP and commands. Reads its input only if the caller may run it. Throws refusals as AppError. */
export const runVerb = async <Fields extends z.ZodRawShape, Output extends object>(
  verb: Verb<Fields, Output>,
  readInput: () => Promise<unknown>,
  call: OperatorCall,
  services: OperatorServices,
): Promise<Output> => {
  const { name, role } = verb;
  const read = async () => {
    if (role === 'write' && call.role !== 'write')
      throw new AppError('role_not_allowed', 'This operator key may only read. Use one with the role write.');
    const rawInput = await readInput();
    return { rawInput, input: validate(verb, rawInput) };
  };
  if (role === 'read') return verb.handle((await read()).input, services, newId());
  const { rawInput, input } = await read().catch((error: unknown) => refuse(error, name, call, services));
  return audited({ operation: name, input: verb.logged?.(input) ?? rawInput }, call, services, (callId) =>
    verb.handle(input, services, callId),
  );
};

/**
 * Throws `thrown`, after a row of the audit log if it is a refusal. Nobody has checked what a refused caller sent, so the
 * row does not have it. A refusal is answered also when its row cannot be written.
 */
export const refuse = async (
  thrown: unknown,
  operation: string,
  call: OperatorCall,
  { store, clock, refusals = () => 0 }: Pick<OperatorServices, 'store' | 'clock' | 'refusals'>,
): Promise<never> => {
  const leftOut = thrown instanceof AppError && thrown.status < 500 ? refusals(call.actor) : null;
  const input = leftOut === 0 ? {} : { left_out: leftOut };
  if (leftOut !== null)
    await audited({ operation, input }, call, { store, clock }, () => Promise.reject(thrown)).catch(() => {});
  throw thrown;
};

/**
 * Makes a change with a row in the audit log. The row is durable before the change begins, so a crash, or a store that
 * fails, leaves a row without an outcome, and never a change without a row. Keys within the input are masked. `change`
 * gets the id of the row.
 */
export const audited = async <Output>(
  { operation, input }: { operation: string; input: unknown },
  { actor, actorLabel, requestId }: OperatorCall,
  { store, clock }: Pick<OperatorServices, 'store' | 'clock'>,
  change: (callId: string) => Promise<Output>,
): Promise<Output> => {
  const id = newId();
  const text = JSON.stringify(input, (_name, value: unknown) =>
    typeof value === 'string' ? withoutKeys(value) : value,
  );
  await store.startAudit({ id, at: clock.now(), actor, actorLabel, operation, input: text, requestId });
  const finish = async (error: string | null): Promise<void> => {
    try {
      await store.finishAudit({ id, error, now: clock.now() });
    } catch {
      // The change is made. Who was told otherwise would make it again; the row without an outcome tells to look.
    }
  };
  try {
    const made = await change(id);
    await finish(null);
    return made;
  } catch (thrown) {
    // A store that failed may have made the change.
    if (!(thrown instanceof StoreError)) await finish(toAppError(thrown).code);
    throw thrown;
  }
};

const hourMs = 3_600_000;
const maxPerActor = 20;
/** Strangers are counted together, too, because one of them may have many addresses. */
const maxOfStrangers = 60;

/** The beginning of an actor that is known by its address alone. */
export const strangerPrefix = 'address:';

/**
 * Bounds the rows that refused calls add to the audit log in an hour. The returned function counts one refusal, and
 * returns the number of refusals that were left out, for its row. It returns null for a refusal without a row. The 1st,
 * 10th, 100th and so on that is left out has a row.
 */
export const createRefusalLimit = (nowMs?: () => number) => {
  const counter = (maxBuckets: number) => createWindowCounter({ windowMs: hourMs, maxBuckets, nowMs });
  // A flood of addresses must not take the place of keys.
  const [ofKey, ofAddress, ofStrangers, ofLeftOut] = [counter(1_000), counter(1_000), counter(1), counter(1)];
  return (actor: string): number | null => {
    const hasRow = actor.startsWith(strangerPrefix)
      ? ofAddress(actor).count <= maxPerActor && ofStrangers('all').count <= maxOfStrangers
      : ofKey(actor).count <= maxPerActor;
    if (hasRow) return 0;
    const { count } = ofLeftOut('all');
    return /^10*$/.test(String(count)) ? count : null;
  };
};
