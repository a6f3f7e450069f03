import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PaymentAsset } from '../../../src/payments/chains/core/network-family.ts';
import { toSmallestUnit } from '../../../src/payments/wire/challenge.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import {
  configuredNetwork,
  findNetwork,
  paymentNetworks,
  requireNetwork,
  findFamily,
} from '../../../src/payments/chains/networks.ts';
import { permit2Contracts } from '../../../src/payments/chains/evm/evm-payload.ts';

describe('the networks', () => {
  it('are found by the names of both protocol versions', () => {
    expect(findNetwork('base-sepolia')?.id).toBe('eip155:84532');
    expect(findNetwork('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1')?.v1Name).toBe('solana-devnet');
    expect(findNetwork('dogecoin')).toBeNull();
    expect(findNetwork('ethereum')?.id).toBe('eip155:1');
    expect(() => requireNetwork('eip155:10')).toThrow('X402_NETWORKS: eip155:10 cannot take payments');
  });

  it('are named in x402 v1 as its clients name them, where those do', async () => {
    const { EVM_NETWORK_CHAIN_ID_MAP: chainIds } = await import('@x402/evm/v1');
    const names = new Map(Object.entries(chainIds).map(([name, chainId]) => [`eip155:${chainId}`, name]));
    const named = paymentNetworks.filter(({ id }) => names.has(id));
    expect(named.map(({ id }) => names.get(id))).toEqual(named.map(({ v1Name }) => v1Name));
    expect(named.length).toBeGreaterThan(3);
  });

  it('take the USDC that x402 clients take by default, where those know one', async () => {
    const evm = await import('@x402/evm');
    const svm = await import('@x402/svm');
    const known = paymentNetworks.flatMap(({ id, family, asset }) => {
      const found = family.name === 'evm' ? evm.findDefaultAsset(asset.address, id) : svm.getDefaultAsset(id);
      if (found === undefined) return [];
      expect(found).toMatchObject({ decimals: asset.decimals });
      expect(JSON.stringify(found).toLowerCase()).toContain(asset.address.toLowerCase());
      if (asset.eip712 !== null) expect(found).toMatchObject(asset.eip712);
      return [id];
    });
    const unknown = paymentNetworks.map(({ id }) => id).filter((id) => !known.includes(id));
    expect(unknown).toEqual(['eip155:11155111', 'eip155:56', 'eip155:97']);
  });

  it('belong to the family that their CAIP-2 names tell', () => {
    for (const { id, family } of paymentNetworks) expect(findFamily(id)).toBe(family);
    expect(findFamily('cosmos:cosmoshub-4')).toBeNull();
  });

  it('have tokens at addresses that can be right', () => {
    for (const { family, asset } of paymentNetworks) expect(family.addressProblem(asset.address)).toBeNull();
  });

  it('are paid through the contracts that x402 clients sign for', async () => {
    const { PERMIT2_ADDRESS, x402ExactPermit2ProxyAddress, x402UptoPermit2ProxyAddress } =
      await import('@x402/evm');
    expect(permit2Contracts).toEqual({
      permit2: PERMIT2_ADDRESS,
      proxy: x402ExactPermit2ProxyAddress,
      uptoProxy: x402UptoPermit2ProxyAddress,
    });
  });

  it('may be paid with another token, whose address cannot be mistyped', () => {
    const asset: PaymentAsset = {
      symbol: 'DAI',
      address: '0x6B175474E89094C44Da98b954EedeAC495271d0F',
      decimals: 18,
      eip712: null,
      transfer: 'permit2',
    };
    expect(configuredNetwork('eip155:1', asset)).toEqual({ ...requireNetwork('eip155:1'), asset });
    expect(configuredNetwork('eip155:1', null)).toBe(requireNetwork('eip155:1'));
    const mistyped = { ...asset, address: asset.address.replace('Da98', 'da98') };
    expect(() => configuredNetwork('eip155:1', mistyped)).toThrow(
      /^causeway\.yaml: x402\.networks\.eip155:1\.asset\.address: .* wrong checksum/,
    );
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
        fc.bigInt({ min: 1n, max: 9_000_000n }),
        fc.integer({ min: 6, max: 18 }),
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
    expect(() => toSmallestUnit(1n, 8)).toThrow(RangeError);
    expect(() => toSmallestUnit(0n, 6)).toThrow(RangeError);
    expect(() => toSmallestUnit(-1_000n, 6)).toThrow(RangeError);
  });

  it('is refused where the store could not keep it', () => {
    expect(toSmallestUnit(parseUsd('9.22'), 18)).toBe(9_220_000_000_000_000_000n);
    expect(() => toSmallestUnit(parseUsd('9.23'), 18)).toThrow(RangeError);
  });
});
