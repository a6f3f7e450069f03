import { describe, expect, it } from 'vitest';
import { readConfig } from '../../../src/config/config.ts';

const read = (STRIPE_SECRET_KEY?: string, STRIPE_WEBHOOK_SECRET?: string) =>
  readConfig({ STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET }, null).cards;

describe('the settings of cards', () => {
  it('switch them on together, for real or for test money', () => {
    expect(read()).toBeNull();
    expect(read('sk_test_1', 'whsec_1')).toMatchObject({ isLive: false });
    expect(read('rk_live_1', 'whsec_1')).toMatchObject({ isLive: true });
  });

  it('are refused alone, and of another form', () => {
    expect(() => read('sk_test_1')).toThrow('STRIPE_WEBHOOK_SECRET: is needed with STRIPE_SECRET_KEY');
    expect(() => read(undefined, 'whsec_1')).toThrow('STRIPE_SECRET_KEY: is needed');
    expect(() => read('pk_test_1', 'whsec_1')).toThrow('STRIPE_SECRET_KEY: must be a key of Stripe');
  });

  it('are shown to operators without their values', async () => {
    const config = readConfig(
      { STRIPE_SECRET_KEY: 'sk_test_q7Zx', STRIPE_WEBHOOK_SECRET: 'whsec_q7Zx' },
      null,
    );
    expect(JSON.stringify(await config.describe())).not.toContain('q7Zx');
  });
});
