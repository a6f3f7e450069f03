import { expect, test } from 'vitest';
import { postOnce } from '../../../src/cli/accounts/post-once.ts';
import { CommandError } from '../../../src/cli/command-error.ts';
import { newId } from '../../../src/kit/ids.ts';
import { StoreError } from '../../../src/store/store-error.ts';

const options = { reason: 'Invoice 1' };

test('an entry has a new id, or that of the option', async () => {
  const entryId = newId();
  const entry = { amount_usd: '5.00', reason: 'Invoice 1' };
  expect(await postOnce(5_000_000_000n, options, async (posted) => posted)).toEqual({
    ...entry,
    entry_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  });
  expect(await postOnce(5_000_000_000n, { ...options, entryId }, async (posted) => posted)).toEqual({
    ...entry,
    entry_id: entryId,
  });
});

test('a store that fails is told with the id under which the command posts only once', async () => {
  let sent = '';
  const posting = postOnce(1n, options, async ({ entry_id: id }) => {
    sent = id;
    throw new StoreError('unavailable', 'no answer');
  });
  await expect(posting).rejects.toThrow(CommandError);
  await expect(posting).rejects.toThrow(`--entry-id ${sent}, which posts it only once: no answer`);
});

test('a refusal stays as it is', async () => {
  const refusal = new Error('refused');
  await expect(postOnce(1n, options, () => Promise.reject(refusal))).rejects.toBe(refusal);
});
