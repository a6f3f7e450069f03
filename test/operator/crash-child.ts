import { readConfig } from '../../src/config/config.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { newId } from '../../src/kit/ids.ts';
import { creditAccount } from '../../src/operator/money.ts';
import { runVerb } from '../../src/operator/run-verb.ts';
import type { Store } from '../../src/store/store.ts';
import { openStoreAt } from '../store/open-store-at.ts';

/**
 * A process that credits an account, and is killed at a call of the store. Arguments: engine, location, account, the
 * number of the call, and whether it is killed before or after it.
 */
const [kind, location = '', accountId = '', deadlyCall = '0', when] = process.argv.slice(2);

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('the process lives on');
};

let calls = 0;
const store = new Proxy(await openStoreAt(kind === 'postgres' ? 'postgres' : 'sqlite', location), {
  get: (target, name: keyof Store) => {
    const method = target[name];
    if (typeof method !== 'function') return method;
    return async (input: never) => {
      calls += 1;
      const isDeadly = calls === Number(deadlyCall);
      if (isDeadly && when === 'before') die();
      const output: unknown = await (method as (input: never) => Promise<unknown>)(input);
      return isDeadly ? die() : output;
    };
  },
});
await runVerb(
  creditAccount,
  async () => ({ account_id: accountId, amount_usd: '5.00', reason: 'Invoice 1', entry_id: newId() }),
  { actor: 'cli:test', actorLabel: null, role: 'write', requestId: null },
  { store, clock: systemClock, brand: 'causeway', config: () => Promise.resolve(readConfig({}, null)) },
);
process.exit(0);
