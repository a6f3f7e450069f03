import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkCards } from '../../../src/cli/doctor/check-cards.ts';
import { listOf } from '../../../src/cli/doctor/finding.ts';
import { readConfig } from '../../../src/config/config.ts';
import { newId } from '../../../src/kit/ids.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { startStripeStub, stripeKey, type StripeStub } from '../../payments/cards/stripe-stub.ts';
import { openStore } from '../../../src/store/open-store.ts';
import { temporaryDataFolder } from '../run-cli.ts';

let stripe: StripeStub;
beforeAll(async () => {
  stripe = await startStripeStub();
});
afterAll(() => stripe.stop());

const configOf = (DATA_DIR: string, STRIPE_SECRET_KEY = stripeKey) =>
  readConfig({ DATA_DIR, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET: 'whsec_1' }, null);
const look = async (folder: string, key?: string): Promise<string[]> => {
  const config = configOf(folder, key);
  const found = await checkCards(config, new AbortController().signal, stripe.address);
  return listOf(found).map(({ status, message }) => `${status}: ${message}`);
};
const folderWith = async (isSandbox: boolean): Promise<string> => {
  const folder = await temporaryDataFolder();
  const store = await openStore(configOf(folder), { log: silentLog });
  await store.createAccount({ id: newId(), name: 'Acme', status: 'active', isSandbox, now: 1 });
  await store.close();
  return folder;
};

it('the doctor says that the key of Stripe is taken, and for which money', async () => {
  expect(await look(await folderWith(true))).toEqual([
    'ok: Stripe takes STRIPE_SECRET_KEY, for test money, and STRIPE_WEBHOOK_SECRET is set.',
  ]);
  const without = readConfig({}, null);
  expect(await checkCards(without, new AbortController().signal)).toBe(false);
});

it('the doctor warns of a key whose money no account can buy with', async () => {
  expect(await look(await folderWith(false))).toEqual([
    'warning: STRIPE_SECRET_KEY takes test money, and no active account is a sandbox.',
  ]);
});

it('the doctor tells a key that Stripe refuses from a Stripe that does not answer', async () => {
  const folder = await folderWith(true);
  expect(await look(folder, 'sk_test_wrong')).toEqual(['problem: Stripe refuses STRIPE_SECRET_KEY (401).']);
  stripe.state.isDown = true;
  expect(await look(folder)).toEqual(['problem: Stripe does not answer as it should.']);
  stripe.state.isDown = false;
});
