import { describe, expect, it } from 'vitest';
import { createAuthenticate } from '../../src/accounts/authenticate.ts';
import { AppError } from '../../src/kit/errors.ts';
import { sha256 } from '../../src/kit/ids.ts';
import type { AccountStatus, ApiKey, Store } from '../../src/store/store.ts';

const key = 'sk_causeway_example';
const now = 1_000;

interface Known extends Partial<
  Pick<ApiKey, 'madeBy' | 'revokedAt' | 'expiresAt' | 'models' | 'budgetDay' | 'budgetMonth'>
> {
  status?: AccountStatus;
}

/** A store that knows one key. */
const storeWith = ({ status = 'active', ...limits }: Known = {}): Pick<Store, 'findKey'> => ({
  findKey: async (hash) =>
    hash === sha256(key)
      ? {
          key: {
            id: 'key-1',
            accountId: 'acme',
            madeBy: 'operator',
            revokedAt: null,
            expiresAt: null,
            models: null,
            tools: null,
            budgetDay: null,
            budgetMonth: null,
            budgetTotal: null,
            usageTag: null,
            ...limits,
          },
          account: {
            id: 'acme',
            name: 'Acme',
            status,
            balance: 10n,
            held: 3n,
            terms: '{}',
            isSandbox: false,
            wallet: null,
            createdAt: 1,
            webhookSecret: 'whsec_1',
          },
        }
      : null,
});

const config = { wallets: { terms: null } };

const outcomeOf = async (authorization: string | undefined, known?: Known): Promise<unknown> => {
  try {
    return await createAuthenticate({ store: storeWith(known), clock: { now: () => now }, config })(
      authorization,
    );
  } catch (error) {
    if (error instanceof AppError) return [error.status, error.code, error.headers['www-authenticate']];
    throw error;
  }
};
const refused = [401, 'invalid_api_key', 'Bearer'];

describe('a bearer key', () => {
  it('names its account, with what is available and its terms', async () => {
    expect(await outcomeOf(`Bearer ${key}`)).toEqual({
      accountId: 'acme',
      keyId: 'key-1',
      available: 7n,
      terms: '{}',
      isSandbox: false,
      limits: null,
      webhookSecret: 'whsec_1',
    });
  });

  it.each([`bearer ${key}`, `BEARER ${key}`, `Bearer   ${key}  `])('is read from "%s"', async (header) => {
    expect(await outcomeOf(header)).toMatchObject({ accountId: 'acme' });
  });

  it.each([undefined, '', '  '])('is missing in %j', async (header) => {
    expect(await outcomeOf(header)).toBeNull();
  });

  it.each([
    'Bearer',
    'Bearer ',
    key,
    `Basic ${key}`,
    `Bearer${key}`,
    `Bearer ${key}x`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}\u00e9`,
    `Bearer ${'k'.repeat(257)}`,
    `x Bearer ${key}`,
  ])('is refused as "%s"', async (header) => {
    expect(await outcomeOf(header)).toEqual(refused);
  });

  it('is refused once it is revoked', async () => {
    expect(await outcomeOf(`Bearer ${key}`, { revokedAt: 0 })).toEqual(refused);
  });

  it.each(['pending', 'suspended'] as const)('is refused while its account is %s', async (status) => {
    expect(await outcomeOf(`Bearer ${key}`, { status })).toEqual(refused);
  });

  it.each([
    ['an expiry', { expiresAt: now + 1 }, { models: null, isBudgeted: false }],
    ['a list of models', { models: ['a'] }, { models: ['a'], isBudgeted: false }],
    ['a budget of a day', { budgetDay: 1n }, { models: null, isBudgeted: true }],
    ['a budget of a month', { budgetMonth: 1n }, { models: null, isBudgeted: true }],
  ])('brings %s with it', async (_name, limits, expected) => {
    expect(await outcomeOf(`Bearer ${key}`, limits)).toMatchObject({ limits: expected });
  });

  it('is refused from its expiry on, which the refusal tells', async () => {
    expect(await outcomeOf(`Bearer ${key}`, { expiresAt: now })).toEqual(refused);
    const asking = createAuthenticate({
      store: storeWith({ expiresAt: now }),
      clock: { now: () => now },
      config,
    });
    await expect(asking(`Bearer ${key}`)).rejects.toThrow('expired at 1970-01-01T00:00:01.000Z');
  });
});
