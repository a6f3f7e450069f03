import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseUsd } from '../../src/money.ts';
import { findNetwork, paymentNetworks, requireNetwork, toSmallestUnit } from '../../src/payments/networks.ts';

describe('the networks', () => {
  it('are found by the names of both protocol versions', () => {
    expect(findNetwork('base-sepolia')?.id).toBe('eip155:84532');
    expect(findNetwork('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1')?.v1Name).toBe('solana-devnet');
    expect(findNetwork('dogecoin')).toBeNull();
    expect(() => requireNetwork('eip155:1')).toThrow('X402_NETWORKS: eip155:1 cannot take payments');
  });

  it('are the ones that x402 clients take USDC on by default', async () => {
    const evm = await import('@x402/evm');
    const svm = await import('@x402/svm');
    for (const { id, family, asset } of paymentNetworks) {
      const known = family === 'evm' ? evm.getDefaultAsset(id) : svm.getDefaultAsset(id);
      expect(known).toMatchObject({ decimals: asset.decimals });
      expect(JSON.stringify(known).toLowerCase()).toContain(asset.address.toLowerCase());
      if (asset.eip712 !== null) expect(known).toMatchObject(asset.eip712);
    }
  });
});

describe('a price in the smallest unit', () => {
  it('is exact', () => {
    expect(toSmallestUnit(parseUsd('0.10'), 6)).toBe(100_000n);
    expect(toSmallestUnit(parseUsd('0.26'), 6)).toBe(260_000n);
    expect(toSmallestUnit(parseUsd('0.10'), 18)).toBe(10n ** 17n);
  });

  it('is the same price, whatever the decimals', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 1n, max: 10n ** 15n }),
        fc.integer({ min: 6, max: 24 }),
        (millionths, decimals) => {
          const units = toSmallestUnit(millionths * 1_000n, decimals);
          expect(units * 10n ** 6n).toBe(millionths * 10n ** BigInt(decimals));
        },
      ),
    );
  });

  it('is refused where it would have to be rounded, or is nothing', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        fc.bigInt({ min: 1n, max: 999n }),
        (units, rest) => {
          expect(() => toSmallestUnit(units * 1_000n + rest, 6)).toThrow(RangeError);
        },
      ),
    );
    expect(() => toSmallestUnit(0n, 6)).toThrow(RangeError);
    expect(() => toSmallestUnit(-1_000n, 6)).toThrow(RangeError);
  });
});
