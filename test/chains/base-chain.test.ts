import { randomBytes } from 'node:crypto';
import {
  bytesToHex,
  createWalletClient,
  domainSeparator,
  http,
  publicActions,
  zeroAddress,
  type Address,
  type Hex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startBaseChain, type BaseChain } from './base-chain.ts';
import { fiatTokenAbi } from './fiat-token.ts';
import { localEvmKeys } from './local-keys.ts';

const connect = (chain: BaseChain) =>
  createWalletClient({
    account: privateKeyToAccount(chain.facilitator.privateKey),
    chain: baseSepolia,
    transport: http(chain.rpcUrl, { retryCount: 0 }),
    pollingInterval: 20,
  }).extend(publicActions);

interface Authorization {
  from: Address;
  to: Address;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}

const domainOf = (chain: BaseChain) => ({
  name: 'USDC',
  version: '2',
  chainId: chain.chainId,
  verifyingContract: chain.usdc,
});

const authorize = (chain: BaseChain, value: bigint): Authorization => ({
  from: chain.buyer.address,
  to: chain.seller.address,
  value,
  validAfter: 0n,
  validBefore: BigInt(Math.floor(Date.now() / 1_000) + 300),
  nonce: bytesToHex(randomBytes(32)),
});

const signAuthorization = (chain: BaseChain, message: Authorization): Promise<Hex> =>
  privateKeyToAccount(chain.buyer.privateKey).signTypedData({
    domain: domainOf(chain),
    types: {
      TransferWithAuthorization: [
        { name: 'from', type: 'address' },
        { name: 'to', type: 'address' },
        { name: 'value', type: 'uint256' },
        { name: 'validAfter', type: 'uint256' },
        { name: 'validBefore', type: 'uint256' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'TransferWithAuthorization',
    message,
  });

/** The call of the token by which the facilitator moves the buyer's money. */
const paymentCall = async (chain: BaseChain, authorization: Authorization) => ({
  address: chain.usdc,
  abi: fiatTokenAbi,
  functionName: 'transferWithAuthorization' as const,
  args: [
    authorization.from,
    authorization.to,
    authorization.value,
    authorization.validAfter,
    authorization.validBefore,
    authorization.nonce,
    await signAuthorization(chain, authorization),
  ] as const,
});

describe('the local Base chain', () => {
  let chain: BaseChain;
  let client: ReturnType<typeof connect>;

  beforeAll(async () => {
    chain = await startBaseChain();
    client = connect(chain);
    await chain.mint(chain.buyer.address, 1_000_000_000n);
  });
  afterEach(async () => {
    chain.controls.clearFaults();
    await chain.controls.setAutomine(true);
  });
  afterAll(() => chain.stop());

  const readToken = (
    functionName: 'name' | 'version' | 'decimals' | 'DOMAIN_SEPARATOR',
  ): Promise<string | number> =>
    client.readContract({ address: chain.usdc, abi: fiatTokenAbi, functionName });
  const isUsed = (nonce: Hex): Promise<boolean> =>
    client.readContract({
      address: chain.usdc,
      abi: fiatTokenAbi,
      functionName: 'authorizationState',
      args: [chain.buyer.address, nonce],
    });

  it('is Base Sepolia by its chain id', async () => {
    expect(await client.getChainId()).toBe(baseSepolia.id);
  });

  it.each(Object.entries(localEvmKeys).filter(([name]) => name !== 'seller'))(
    'has the address of the %s belong to its key',
    (_name, key) => {
      expect('privateKey' in key && privateKeyToAccount(key.privateKey).address).toBe(key.address);
    },
  );

  it('has a USDC that signs as the one on Base Sepolia does', async () => {
    expect(await Promise.all([readToken('name'), readToken('version'), readToken('decimals')])).toEqual([
      'USDC',
      '2',
      6,
    ]);
    expect(await readToken('DOMAIN_SEPARATOR')).toBe(domainSeparator({ domain: domainOf(chain) }));
  });

  it('mints', async () => {
    const stranger = bytesToHex(randomBytes(20));
    await chain.mint(stranger, 25n);
    expect(await chain.balanceOf(stranger)).toBe(25n);
  });

  it('says so when it cannot mint', async () => {
    await expect(chain.mint(zeroAddress, 1n)).rejects.toThrow('A call to the local USDC reverted');
  });

  it("moves the buyer's money once for an authorization that the facilitator sends", async () => {
    const authorization = authorize(chain, 123_456n);
    const call = await paymentCall(chain, authorization);
    const before = await Promise.all([
      chain.balanceOf(chain.buyer.address),
      chain.balanceOf(chain.seller.address),
    ]);
    expect(await isUsed(authorization.nonce)).toBe(false);

    const receipt = await client.waitForTransactionReceipt({ hash: await client.writeContract(call) });

    expect(receipt.status).toBe('success');
    expect(await isUsed(authorization.nonce)).toBe(true);
    const after = await Promise.all([
      chain.balanceOf(chain.buyer.address),
      chain.balanceOf(chain.seller.address),
    ]);
    expect([before[0] - after[0], after[1] - before[1]]).toEqual([123_456n, 123_456n]);
    await expect(client.simulateContract(call)).rejects.toThrow('authorization is used or canceled');
    const secondHash = await client.writeContract({ ...call, gas: 200_000n });
    expect((await client.waitForTransactionReceipt({ hash: secondHash })).status).toBe('reverted');
    expect(await chain.balanceOf(chain.buyer.address)).toBe(after[0]);
  });

  it('refuses an authorization after its time', async () => {
    const authorization = { ...authorize(chain, 1n), validBefore: 1n };
    await expect(client.simulateContract(await paymentCall(chain, authorization))).rejects.toThrow(
      'authorization is expired',
    );
  });

  it('keeps transactions pending until it is told to mine', async () => {
    const authorization = authorize(chain, 5n);
    await chain.controls.setAutomine(false);
    const hash = await client.writeContract(await paymentCall(chain, authorization));
    expect(await isUsed(authorization.nonce)).toBe(false);
    expect(await client.getTransaction({ hash })).toMatchObject({ blockNumber: null });

    await chain.controls.mine();

    expect((await client.getTransactionReceipt({ hash })).status).toBe('success');
    expect(await isUsed(authorization.nonce)).toBe(true);
  });

  it('forgets a pending transaction', async () => {
    const authorization = authorize(chain, 5n);
    await chain.controls.setAutomine(false);
    const hash = await client.writeContract(await paymentCall(chain, authorization));

    await chain.controls.dropPending(hash);
    await chain.controls.mine();

    await expect(client.getTransaction({ hash })).rejects.toThrow('could not be found');
    expect(await isUsed(authorization.nonce)).toBe(false);
  });

  it('does the work of a send whose answer is lost', async () => {
    const authorization = authorize(chain, 7n);
    const call = await paymentCall(chain, authorization);
    const fault = chain.controls.inject({
      fault: 'lose-answer',
      methods: ['eth_sendRawTransaction'],
      times: 1,
    });

    await expect(client.writeContract(call)).rejects.toThrow('HTTP request failed');

    expect(fault.hits).toBe(1);
    await expect.poll(() => isUsed(authorization.nonce)).toBe(true);
  });

  it('moves the clock of its blocks', async () => {
    const before = await client.getBlock();
    await chain.controls.advanceSeconds(3_600);
    const after = await client.getBlock();
    expect(after.timestamp - before.timestamp).toBeGreaterThanOrEqual(3_600n);
  });

  it('ends its process when it is stopped', async () => {
    const other = await startBaseChain();
    expect(process.kill(other.pid, 0)).toBe(true);
    await other.stop();
    expect(() => process.kill(other.pid, 0)).toThrow('ESRCH');
  });
});
