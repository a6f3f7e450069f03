import {
  encodeAbiParameters,
  encodeFunctionResult,
  parseAbi,
  toFunctionSelector,
  zeroHash,
  type Address,
  type Hex,
} from 'viem';
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PaymentAsset } from '../../../../src/payments/chains/core/network-family.ts';
import type { PayableNetwork } from '../../../../src/payments/chains/payment-methods.ts';
import type { NetworkStatus, X402Gate } from '../../../../src/payments/sale/gate.ts';
import { answeringContract } from '../../../chains/answering-contract.ts';
import { permit2Addresses } from '../../../chains/permit2-code.ts';
import { startBnbFixture, type BnbFixture } from '../../support/bnb-fixture.ts';
import {
  codeOf,
  createSale,
  overRest,
  price,
  startGateFixture,
  type GateFixture,
} from '../../support/gate-fixture.ts';

let fixture: GateFixture;
let bnb: BnbFixture;
beforeAll(async () => {
  [fixture, bnb] = await Promise.all([startGateFixture(), startBnbFixture()]);
});
afterEach(() => {
  fixture.chains.base.controls.clearFaults();
  fixture.chains.solana.controls.clearFaults();
});
afterAll(async () => {
  await Promise.all([fixture?.close(), bnb?.close()]);
});

const baseNetwork = (change: Partial<PayableNetwork> = {}): PayableNetwork => ({
  ...fixture.localNetworks[0]!,
  ...change,
});
const solanaNetwork = (change: Partial<PayableNetwork> = {}): PayableNetwork => ({
  ...fixture.localNetworks[1]!,
  ...change,
});

const usdc: PaymentAsset = {
  symbol: 'USDC',
  address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  decimals: 6,
  eip712: { name: 'USDC', version: '2' },
  transfer: 'eip3009',
};

interface Checked {
  gate: X402Gate;
  status(): NetworkStatus;
  /** Whether buyers are asked to pay on the network. */
  isOffered(): boolean;
}

/** A gate with that network alone, after it asked the chain. */
const check = async (network: PayableNetwork): Promise<Checked> => {
  const gate = fixture.openGate({ networks: [network] });
  await gate.warmUp();
  return {
    gate,
    status: () => gate.status()[0]!,
    isOffered: () => {
      try {
        return gate.challenge({ price, ...overRest }).paymentRequired.accepts.length > 0;
      } catch {
        return false;
      }
    },
  };
};

const faultsOf = async (network: PayableNetwork): Promise<string> => {
  const { status, isOffered } = await check(network);
  expect(status().ready).toBe(false);
  expect(isOffered()).toBe(false);
  return status().detail ?? '';
};

/** A token contract that answers those calls alone, at an address of its own. */
const placeToken = async (answersAt: (address: Address) => Record<Hex, Hex>): Promise<Address> => {
  const address = privateKeyToAddress(generatePrivateKey());
  await fixture.chains.base.controls.setCode(address, answeringContract(answersAt(address)));
  return address;
};

const number = (value: bigint): Hex => encodeAbiParameters([{ type: 'uint256' }], [value]);
const sixDecimals = { [toFunctionSelector('decimals()')]: number(6n) };
const eip3009 = { [toFunctionSelector('authorizationState(address,bytes32)')]: number(0n) };
const domainAbi = parseAbi([
  'function eip712Domain() view returns (bytes1, string, string, uint256, address, bytes32, uint256[])',
]);
const domainOf = (name: string, at: Address): Record<Hex, Hex> => ({
  [toFunctionSelector('eip712Domain()')]: encodeFunctionResult({
    abi: domainAbi,
    functionName: 'eip712Domain',
    result: ['0x0f', name, '2', 84_532n, at, zeroHash, []],
  }),
});

describe('a network as the chain has it', () => {
  it('is ready and offered, on every chain, without a word', async () => {
    for (const network of [baseNetwork(), solanaNetwork(), bnb.network]) {
      const { status, isOffered } = await check(network);
      expect(status()).toMatchObject({ network: network.network, ready: true, detail: null });
      expect(isOffered()).toBe(true);
    }
  });

  it('is asked for what does not change only once', async () => {
    const { controls } = fixture.chains.base;
    const { gate } = await check(baseNetwork());
    const asked = controls.callCount('eth_chainId');
    await gate.warmUp();
    await gate.warmUp();
    expect(controls.callCount('eth_chainId')).toBe(asked);
    expect(asked).toBeGreaterThan(0);
  });

  it('is checked where somebody else settles, too, if a node of it is configured', async () => {
    const endpoints = [{ url: 'http://127.0.0.1:9', cdpKey: null }];
    const remote = (rpcUrl: string | null) =>
      baseNetwork({
        facilitator: { kind: 'remote', endpoints, rpcUrl },
        asset: { ...usdc, decimals: 18 },
      });
    const wrong = await check(remote(fixture.chains.base.rpcUrl));
    expect(wrong.status().detail).toMatch(
      / has 6 decimals, not 18; set x402\.networks\.eip155:84532\.asset\.decimals$/,
    );
    expect(wrong.isOffered()).toBe(false);
    expect((await check(remote(null))).isOffered()).toBe(true);
  });
});

describe('a network is out of the offer, with what is wrong and where to set it', () => {
  it('when the node is of another chain', async () => {
    expect(await faultsOf(baseNetwork({ network: 'eip155:11155111' }))).toBe(
      'the RPC serves chain 84532, not 11155111; set X402_EVM_RPC_URL or ' +
        'x402.networks.eip155:11155111.rpc_url to one of Ethereum Sepolia',
    );
  });

  it('when there is no token at the address', async () => {
    const address = privateKeyToAddress(generatePrivateKey());
    expect(await faultsOf(baseNetwork({ asset: { ...usdc, address } }))).toBe(
      `USDC at ${address} is no contract on Base Sepolia; set x402.networks.eip155:84532.asset.address`,
    );
  });

  it('when the token counts and signs otherwise, each in its own words', async () => {
    const eip712 = { name: 'USD Coin', version: '2' };
    expect(await faultsOf(baseNetwork({ asset: { ...usdc, decimals: 18, eip712 } }))).toBe(
      `USDC at ${usdc.address} has 6 decimals, not 18; set x402.networks.eip155:84532.asset.decimals; ` +
        `USDC at ${usdc.address} is not signed for as "USD Coin", version "2"; set ` +
        'x402.networks.eip155:84532.asset.eip712',
    );
  });

  it('when the token has no ERC-3009', async () => {
    const address = await placeToken(() => sixDecimals);
    expect(await faultsOf(baseNetwork({ asset: { ...usdc, address } }))).toBe(
      `USDC at ${address} has no ERC-3009; set x402.networks.eip155:84532.asset with transfer: permit2`,
    );
  });

  it('when what is there is no token at all', async () => {
    const address = await placeToken(() => ({}));
    const detail = await faultsOf(baseNetwork({ asset: { ...usdc, address } }));
    expect(detail).toContain(`USDC at ${address} has no decimals, not 6`);
  });

  it('when what is there answers with bytes that mean nothing', async () => {
    const garbage: Hex = '0x01';
    const address = await placeToken(() => ({
      ...eip3009,
      [toFunctionSelector('decimals()')]: garbage,
      [toFunctionSelector('eip712Domain()')]: garbage,
    }));
    expect(await faultsOf(baseNetwork({ asset: { ...usdc, address } }))).toMatch(/has no decimals, not 6/);
  });

  it('when the token tells of another domain in the way of ERC-5267, and only then', async () => {
    const placed = (name: string): Promise<Address> =>
      placeToken((address) => ({ ...sixDecimals, ...eip3009, ...domainOf(name, address) }));
    const other = baseNetwork({ asset: { ...usdc, address: await placed('Other') } });
    expect(await faultsOf(other)).toMatch(/is not signed for as "USDC", version "2"/);
    const right = baseNetwork({ asset: { ...usdc, address: await placed('USDC') } });
    expect((await check(right)).status()).toMatchObject({ ready: true, detail: null });
  });

  it('when Permit2 is not on the chain', async () => {
    const { permit2, proxy } = permit2Addresses;
    for (const address of [permit2, proxy]) await fixture.chains.base.controls.setCode(address, '0x');
    const asset: PaymentAsset = { ...usdc, eip712: null, transfer: 'permit2' };
    const detail = await faultsOf(baseNetwork({ asset }));
    const set = 'set x402.networks.eip155:84532.asset to a token with ERC-3009';
    expect(detail).toBe(
      `Permit2 is not at ${permit2Addresses.permit2} on Base Sepolia; ${set}; ` +
        `the Permit2 proxy of x402 is not at ${permit2Addresses.proxy} on Base Sepolia; ${set}`,
    );
  });

  it('when the node is of another Solana cluster', async () => {
    expect(await faultsOf(solanaNetwork({ network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp' }))).toBe(
      'the RPC serves the cluster EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG; set X402_SOLANA_RPC_URL or ' +
        'x402.networks.solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp.rpc_url to one of Solana',
    );
  });

  it('when the mint is none, or counts otherwise', async () => {
    const solanaUsdc: PaymentAsset = {
      symbol: 'USDC',
      address: fixture.chains.solana.usdc,
      decimals: 6,
      eip712: null,
      transfer: null,
    };
    const setting = `x402.networks.${fixture.chains.solana.network}.asset`;
    expect(await faultsOf(solanaNetwork({ asset: { ...solanaUsdc, decimals: 9 } }))).toBe(
      `USDC at ${solanaUsdc.address} has 6 decimals, not 9; set ${setting}.decimals`,
    );
    const { address } = fixture.chains.solana.buyer;
    expect(await faultsOf(solanaNetwork({ asset: { ...solanaUsdc, address } }))).toBe(
      `USDC at ${address} is no mint of the token program on Solana devnet; set ${setting}.address`,
    );
  });
});

describe('a network that was wrong', () => {
  it('takes no proofs, and is offered again once it is right', async () => {
    const stranger = await fixture.createBuyer(1n);
    const { gate, status, isOffered } = await check(
      solanaNetwork({ payTo: fixture.chains.solana.facilitator.address }),
    );
    expect(status().detail).toMatch(/^the wallet .* has no USDC account \(.*\) yet; send it some USDC$/);
    const honest = fixture.openGate();
    const proofs = await stranger.prove(honest.challenge({ price, ...overRest }), 'solana');
    expect(await codeOf(gate.sellAnswer(createSale('not yet').request(proofs)))).toBe('payment_unavailable');
    await fixture.chains.solana.mint(fixture.chains.solana.facilitator.address, 1n);
    await gate.warmUp();
    expect(status()).toMatchObject({ ready: true, detail: null });
    expect(isOffered()).toBe(true);
  });
});

describe('a network whose node is of another kind', () => {
  it.each([
    ['base', 'solana', 'X402_EVM_RPC_URL'],
    ['solana', 'base', 'X402_SOLANA_RPC_URL'],
  ] as const)(
    'is told apart from one that does not answer (%s, asked of %s)',
    async (chain, other, setting) => {
      const network = chain === 'base' ? baseNetwork() : solanaNetwork();
      const { rpcUrl } = fixture.chains[other];
      const { status } = await check({ ...network, facilitator: { ...network.facilitator, rpcUrl } });
      expect(status().ready).toBe(false);
      expect(status().detail).toContain(setting);
      expect(status().detail).not.toContain('does not answer');
    },
  );
});

describe('a network whose node does not answer', () => {
  it.each(['base', 'solana'] as const)('is not ready, and offered as before (%s)', async (chain) => {
    fixture.chains[chain].controls.inject({ fault: 'unavailable' });
    const { status, isOffered } = await check(chain === 'base' ? baseNetwork() : solanaNetwork());
    const setting = `X402_${chain === 'base' ? 'EVM' : 'SOLANA'}_RPC_URL, or rpc_url`;
    expect(status()).toMatchObject({ ready: false, detail: `the RPC does not answer (${setting})` });
    expect(isOffered()).toBe(true);
  });

  it('tells nothing of a token that it refuses to be asked about', async () => {
    fixture.chains.base.controls.inject({ fault: 'error', methods: ['eth_call', 'eth_getCode'] });
    const { status, isOffered } = await check(baseNetwork({ asset: { ...usdc, decimals: 18 } }));
    expect(status().ready).toBe(true);
    expect(isOffered()).toBe(true);
  });
});

describe('the settling account on an EVM chain', () => {
  const gasPrice = 3n * 10n ** 9n;
  /** What a settlement of 120,000 gas costs when the base fee is 1 gwei and the tip 1 gwei. */
  const settlement = 120_000n * gasPrice;

  const statusWith = async (wei: bigint): Promise<NetworkStatus> => {
    const { facilitator, controls } = fixture.chains.base;
    await controls.setNextBaseFee(10n ** 9n);
    await controls.mine();
    await controls.setBalance(facilitator.address, wei);
    return (await check(baseNetwork())).status();
  };
  afterAll(() => statusWith(10n ** 20n));

  it.each([0n, settlement - 1n])(
    'is not ready when it cannot pay for one settlement (%d wei)',
    async (wei) => {
      expect(await statusWith(wei)).toMatchObject({
        ready: false,
        detail: `the settling account ${fixture.chains.base.facilitator.address} cannot pay for one settlement at the present price; fund it`,
      });
    },
  );

  it.each([settlement, 50n * settlement - 1n])(
    'asks for more when it can pay for few (%d wei)',
    async (wei) => {
      expect(await statusWith(wei)).toMatchObject({
        ready: true,
        detail: `the settling account ${fixture.chains.base.facilitator.address} can pay for fewer than 50 settlements; fund it`,
      });
    },
  );

  it('is ready without a word when it can pay for fifty', async () => {
    expect(await statusWith(50n * settlement)).toMatchObject({ ready: true, detail: null });
  });

  it('does not settle at a price that is not worth it', async () => {
    const { controls } = fixture.chains.base;
    await controls.setNextBaseFee(10n ** 12n);
    await controls.mine();
    const { status, isOffered } = await check(baseNetwork());
    expect(status()).toMatchObject({ ready: false, detail: 'a settlement costs more gas now than it may' });
    expect(isOffered()).toBe(false);
  });
});

describe('the settling account on Solana', () => {
  const rent = 890_880n;
  const settlement = 35_000n;
  const statusWith = async (lamports: bigint): Promise<NetworkStatus> => {
    const { facilitator, controls } = fixture.chains.solana;
    controls.setLamports(facilitator.address, lamports);
    return (await check(solanaNetwork())).status();
  };
  afterAll(() => statusWith(10n ** 12n));

  it('is not ready when it cannot pay for one settlement beside what must stay in it', async () => {
    expect(await statusWith(rent + settlement - 1n)).toMatchObject({
      ready: false,
      detail: expect.stringMatching(/cannot pay for one settlement at the present price; fund it$/),
    });
  });

  it('asks for more when it can pay for few, and is silent when it can pay for fifty', async () => {
    expect(await statusWith(rent + settlement)).toMatchObject({
      ready: true,
      detail: expect.stringMatching(/can pay for fewer than 50 settlements; fund it$/),
    });
    expect(await statusWith(rent + 50n * settlement)).toMatchObject({ ready: true, detail: null });
  });
});
