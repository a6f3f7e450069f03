import { describe, expect, it } from 'vitest';
import { createAuthenticate } from '../../src/auth/authenticate.ts';
import { AppError } from '../../src/kit/errors.ts';
import { sha256 } from '../../src/kit/ids.ts';
import type { AccountStatus, Store } from '../../src/store/store.ts';

const key = 'sk_causeway_example';

interface Known {
  revokedAt?: number | null;
  status?: AccountStatus;
}

/** A store that knows one key. */
const storeWith = ({ revokedAt = null, status = 'active' }: Known = {}): Pick<Store, 'findKey'> => ({
  findKey: async (hash) =>
    hash === sha256(key)
      ? {
          key: {
            id: 'key-1',
            accountId: 'acme',
            display: 'sk_…',
            label: '',
            createdAt: 1,
            revokedAt,
          },
          account: {
            id: 'acme',
            name: 'Acme',
            status,
            balance: 10n,
            held: 3n,
            terms: '{}',
            isSandbox: false,
            createdAt: 1,
          },
        }
      : null,
});

const outcomeOf = async (authorization: string | undefined, known?: Known): Promise<unknown> => {
  try {
    return await createAuthenticate({ store: storeWith(known) })(authorization);
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
});
