import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addAccount } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const child = fileURLToPath(new URL('./crash-child.ts', import.meta.url));

/** The calls of the store in a credit: start the row, post the entry, finish the row. */
const deaths = [1, 2, 3].flatMap((step) => [
  { step, when: 'before' },
  { step, when: 'after' },
]);

describe.each(testEngines())('the audit log on $kind', ({ kind, create }) => {
  let data: TestStore;
  beforeEach(async () => {
    data = await create();
  });
  afterEach(() => data.remove());

  test.each(deaths)(
    'has a row of each change of a process killed $when step $step',
    async ({ step, when }) => {
      const { accountId } = await addAccount(data.store, { balance: 0n });
      const [earlier] = await data.store.listEntries({ accountId, limit: 10, before: null });
      const words = [child, kind, data.location, accountId, String(step), when];
      const [code, signal] = await once(spawn(process.execPath, words, { stdio: 'inherit' }), 'exit');
      expect([code, signal]).toEqual([null, 'SIGKILL']);

      const store = await data.openAnother();
      const entries = await store.listEntries({ accountId, limit: 10, before: null });
      const posted = entries.filter(({ id }) => id !== earlier?.id);
      const rows = await store.listAudit({ limit: 10 });
      const hasBegun = step > 1 || when === 'after';
      const isPosted = step === 3 || (step === 2 && when === 'after');
      const isFinished = step === 3 && when === 'after';
      expect(rows.map(({ outcome }) => outcome)).toEqual(hasBegun ? [isFinished ? 'done' : null] : []);
      // The row leads to the entry, so the operator can tell whether a change without an end was made.
      expect(posted.map(({ id }) => id)).toEqual(isPosted ? rows.map(({ input }) => input['entry_id']) : []);
    },
  );
});
