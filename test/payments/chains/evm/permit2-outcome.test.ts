import {
  createWalletClient,
  encodeAbiParameters,
  encodeFunctionData,
  http,
  parseAbi,
  publicActions,
  toFunctionSelector,
  type Address,
  type Hex,
} from 'viem';
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts';
import { bscTestnet } from 'viem/chains';
import { x402ExactPermit2ProxyABI } from '@x402/evm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PaymentOrder } from '../../../../src/payments/chains/core/facilitator.ts';
import type { PaymentAsset } from '../../../../src/payments/chains/core/network-family.ts';
import { parseProof } from '../../../../src/payments/wire/parse-proof.ts';
import { createEvmChain, type EvmChain } from '../../../../src/payments/chains/evm/evm-chain.ts';
import { findEvmOutcome } from '../../../../src/payments/chains/evm/evm-outcome.ts';
import { createJsonRpc, type JsonRpc } from '../../../../src/payments/chains/core/json-rpc.ts';
import { toEvmPayload, type Permit2Payload } from '../../../../src/payments/chains/evm/evm-payload.ts';
import { answeringContract } from '../../../chains/answering-contract.ts';
import { permit2Addresses } from '../../../chains/permit2-code.ts';
import { batchCode } from '../../support/batch-transfer.ts';
import { bnbPriceUnits, startBnbFixture, type BnbBuyer, type BnbFixture } from '../../support/bnb-fixture.ts';
import { overRest, price } from '../../support/gate-fixture.ts';

let fixture: BnbFixture;
let rpc: JsonRpc;
let chain: EvmChain;
beforeAll(async () => {
  fixture = await startBnbFixture();
  rpc = createJsonRpc({ url: fixture.chain.rpcUrl, timeoutMs: 5_000 });
  chain = createEvmChain(rpc, new AbortController().signal);
});
afterAll(() => fixture?.close());

const permit2Abi = parseAbi([
  'struct Permitted { address token; uint256 amount; }',
  'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
  'struct Details { address to; uint256 requestedAmount; }',
  'function permitTransferFrom(Permit permit, Details transferDetails, address owner, bytes signature)',
]);
const erc20Abi = parseAbi(['function transfer(address to, uint256 amount) returns (bool)']);

type Order = PaymentOrder & { signed: Permit2Payload };

/** A signed payment of the usual price, with the terms that it answers. */
const order = async (buyer: BnbBuyer, asset: PaymentAsset | null = null): Promise<Order> => {
  const networks = [{ ...fixture.network, asset }];
  const challenge = fixture.openGate({ networks }).challenge({ price, ...overRest });
  const signed = toEvmPayload(parseProof(await buyer.prove(challenge)).payload);
  const { resource, accepts } = challenge.paymentRequired;
  const [requirements] = accepts;
  if (requirements === undefined || !('permit2Authorization' in signed)) throw new Error('no Permit2 proof');
  const payload = { x402Version: 2, resource, accepted: requirements, payload: signed } as const;
  return { payload, requirements, signed };
};

const send = async (from: { privateKey: Hex }, call: { to?: Address; data: Hex }): Promise<Hex> => {
  const wallet = createWalletClient({
    account: privateKeyToAccount(from.privateKey),
    chain: bscTestnet,
    transport: http(fixture.chain.rpcUrl, { retryCount: 0 }),
    pollingInterval: 20,
  }).extend(publicActions);
  const hash = await wallet.sendTransaction({ ...call, gas: 3_000_000n });
  await wallet.waitForTransactionReceipt({ hash });
  return hash;
};

/** The call of x402's proxy that settles the payment. */
const settleCall = ({ signed: { permit2Authorization: permit, signature } }: Order): Hex =>
  encodeFunctionData({
    abi: x402ExactPermit2ProxyABI,
    functionName: 'settle',
    args: [
      {
        permitted: { token: permit.permitted.token, amount: BigInt(permit.permitted.amount) },
        nonce: BigInt(permit.nonce),
        deadline: BigInt(permit.deadline),
      },
      permit.from,
      { to: permit.witness.to, validAfter: BigInt(permit.witness.validAfter) },
      signature,
    ],
  });

/** A call by which the owner pays somebody through Permit2 itself, with that nonce. */
const otherUse = async (
  buyer: BnbBuyer,
  { nonce, to, amount }: { nonce: bigint; to: Address; amount: bigint },
): Promise<Hex> => {
  const permit = { permitted: { token: fixture.chain.usdc, amount }, nonce, deadline: 99_999_999_999n };
  const signature = await privateKeyToAccount(buyer.privateKey).signTypedData({
    domain: { name: 'Permit2', chainId: fixture.chain.chainId, verifyingContract: permit2Addresses.permit2 },
    primaryType: 'PermitTransferFrom',
    types: {
      PermitTransferFrom: [
        { name: 'permitted', type: 'TokenPermissions' },
        { name: 'spender', type: 'address' },
        { name: 'nonce', type: 'uint256' },
        { name: 'deadline', type: 'uint256' },
      ],
      TokenPermissions: [
        { name: 'token', type: 'address' },
        { name: 'amount', type: 'uint256' },
      ],
    },
    message: { ...permit, spender: buyer.address },
  });
  return encodeFunctionData({
    abi: permit2Abi,
    functionName: 'permitTransferFrom',
    args: [permit, { to, requestedAmount: amount }, buyer.address, signature],
  });
};

/** A node some of whose answers are other ones than they should be. */
const chainThat = (answer: (method: string) => { result: unknown } | null): EvmChain =>
  createEvmChain(
    {
      request: (method, params, signal) => {
        const other = answer(method);
        return other === null ? rpc.request(method, params, signal) : Promise.resolve(other.result);
      },
    },
    new AbortController().signal,
  );

const nonceOf = ({ signed }: Order): bigint => BigInt(signed.permit2Authorization.nonce);
const { proxy, permit2 } = permit2Addresses;

describe('what the chain says of a payment through Permit2', () => {
  it('is open while its nonce is free', async () => {
    const buyer = await fixture.createBuyer();
    expect(await findEvmOutcome(chain, await order(buyer), null)).toEqual({ outcome: 'open' });
  });

  it('is settled by the transaction that called x402’s proxy, whoever sent it and whether or not its hash is known', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    const transaction = await send(buyer, { to: proxy, data: settleCall(payment) });
    expect(await findEvmOutcome(chain, payment, transaction)).toEqual({ outcome: 'settled', transaction });
    expect(await findEvmOutcome(chain, payment, null)).toEqual({ outcome: 'settled', transaction });
  });

  it('is each its own among payments alike of one buyer', async () => {
    const buyer = await fixture.createBuyer();
    const payments = await Promise.all(Array.from({ length: 3 }, () => order(buyer)));
    const transactions: Hex[] = [];
    for (const payment of payments)
      transactions.push(await send(buyer, { to: proxy, data: settleCall(payment) }));
    const outcomes = await Promise.all(payments.map((payment) => findEvmOutcome(chain, payment, null)));
    expect(outcomes).toEqual(transactions.map((transaction) => ({ outcome: 'settled', transaction })));
  });

  it('is not settled by the transaction of another payment alike', async () => {
    const buyer = await fixture.createBuyer();
    const [paid, unpaid] = [await order(buyer), await order(buyer)];
    const transaction = await send(buyer, { to: proxy, data: settleCall(paid) });
    expect(await findEvmOutcome(chain, unpaid, transaction)).toEqual({ outcome: 'open' });
  });

  it('is found below more payments alike than are looked at one by one', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    const transaction = await send(buyer, { to: proxy, data: settleCall(payment) });
    for (let count = 0; count < 26; count += 1)
      await send(buyer, { to: proxy, data: settleCall(await order(buyer)) });
    expect(await findEvmOutcome(chain, payment, null)).toEqual({ outcome: 'settled', transaction });
  });

  it('cannot be asked of a node of another chain', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    const elsewhere: Order = {
      ...payment,
      requirements: { ...payment.requirements, network: 'eip155:56' },
    };
    await expect(findEvmOutcome(chain, elsewhere, null)).rejects.toThrow('the node serves another chain');
  });

  it('is failed when the buyer used the nonce up without paying', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    await fixture.chain.spendNonce(buyer, nonceOf(payment));
    await fixture.chain.controls.mine(5);
    expect(await findEvmOutcome(chain, payment, null)).toEqual({
      outcome: 'failed',
      reason: 'permit2_invalid_nonce',
    });
  });

  it('is failed when another spender used the nonce for another transfer, also after a payment alike', async () => {
    const buyer = await fixture.createBuyer();
    const [earlier, payment] = [await order(buyer), await order(buyer)];
    await send(buyer, { to: proxy, data: settleCall(earlier) });
    const data = await otherUse(buyer, { nonce: nonceOf(payment), to: buyer.address, amount: 1n });
    await send(buyer, { to: permit2, data });
    expect(await findEvmOutcome(chain, payment, null)).toEqual({
      outcome: 'failed',
      reason: 'permit2_invalid_nonce',
    });
  });

  it('is not known when the nonce was used and the seller paid as much in the same block otherwise', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    const { controls, seller } = fixture.chain;
    const alike = { nonce: nonceOf(payment), to: seller.address, amount: bnbPriceUnits };
    const transaction = await send(buyer, { to: permit2, data: await otherUse(buyer, alike) });
    await controls.mine();
    const unclear = { outcome: 'unknown', reason: 'authorization_used' };
    expect(await findEvmOutcome(chain, payment, transaction)).toEqual(unclear);
    expect(await findEvmOutcome(chain, payment, null)).toEqual(unclear);
  });

  it('is not known when the proxy was called through a contract that may have done more', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    const data = batchCode(proxy, [settleCall(payment)]);
    const before = await fixture.chain.balanceOf(fixture.chain.seller.address);
    const transaction = await send(buyer, { data });
    expect(await fixture.chain.balanceOf(fixture.chain.seller.address)).toBe(before + bnbPriceUnits);
    expect(await findEvmOutcome(chain, payment, transaction)).toEqual({
      outcome: 'unknown',
      reason: 'authorization_used',
    });
  });

  it('is not settled by a plain transfer of as much', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    const args = [fixture.chain.seller.address, bnbPriceUnits] as const;
    const transaction = await send(buyer, {
      to: fixture.chain.usdc,
      data: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args }),
    });
    expect(await findEvmOutcome(chain, payment, transaction)).toEqual({ outcome: 'open' });
  });

  it('is not settled by a token that moves nothing', async () => {
    const buyer = await fixture.createBuyer();
    const address = privateKeyToAddress(generatePrivateKey());
    const yes = encodeAbiParameters([{ type: 'bool' }], [true]);
    const transferFrom = toFunctionSelector('transferFrom(address,address,uint256)');
    await fixture.chain.controls.setCode(address, answeringContract({ [transferFrom]: yes }));
    const token: PaymentAsset = { symbol: 'FAKE', address, decimals: 18, eip712: null, transfer: 'permit2' };
    const payment = await order(buyer, token);
    const transaction = await send(buyer, { to: proxy, data: settleCall(payment) });
    expect(await findEvmOutcome(chain, payment, transaction)).toEqual({
      outcome: 'failed',
      reason: 'permit2_invalid_nonce',
    });
  });

  describe('when a node has the block in which the nonce was used', () => {
    const unclear = { outcome: 'unknown', reason: 'authorization_used' };
    const empty = { result: [] };
    const nothing = { result: null };

    it.each([
      ['and its logs are behind', ['eth_getLogs']],
      ['and its receipts are behind', ['eth_getTransactionReceipt']],
      ['and both are behind', ['eth_getLogs', 'eth_getTransactionReceipt']],
    ])('%s, a payment is not called failed', async (_name, behind) => {
      const buyer = await fixture.createBuyer();
      const [paid, spent] = [await order(buyer), await order(buyer)];
      const transaction = await send(buyer, { to: proxy, data: settleCall(paid) });
      await fixture.chain.spendNonce(buyer, nonceOf(spent));
      const lagging = chainThat((method) => {
        if (!behind.includes(method)) return null;
        return method === 'eth_getLogs' ? empty : nothing;
      });
      // A node whose receipts alone are behind still finds the log of a payment.
      const known = { outcome: 'settled', transaction };
      expect(await findEvmOutcome(lagging, paid, null)).toEqual(
        behind.includes('eth_getLogs') ? unclear : known,
      );
      expect(await findEvmOutcome(lagging, spent, null)).toEqual(unclear);
    });

    it('among many others, a payment is called failed only by their logs', async () => {
      const { controls } = fixture.chain;
      const buyer = await fixture.createBuyer();
      const payment = await order(buyer);
      const wallet = createWalletClient({
        account: privateKeyToAccount(buyer.privateKey),
        chain: bscTestnet,
        transport: http(fixture.chain.rpcUrl),
      });
      const data = await otherUse(buyer, { nonce: nonceOf(payment), to: buyer.address, amount: 1n });
      const transfer = encodeFunctionData({
        abi: erc20Abi,
        functionName: 'transfer',
        args: [buyer.address, 1n],
      });
      await controls.setAutomine(false);
      await wallet.sendTransaction({ to: permit2, data, gas: 300_000n });
      for (let count = 0; count < 25; count += 1)
        await wallet.sendTransaction({ to: fixture.chain.usdc, data: transfer, gas: 100_000n });
      await controls.mine();
      await controls.setAutomine(true);
      const lagging = chainThat((method) => (method === 'eth_getLogs' ? empty : null));
      expect(await findEvmOutcome(lagging, payment, null)).toEqual(unclear);
      expect(await findEvmOutcome(chain, payment, null)).toEqual({
        outcome: 'failed',
        reason: 'permit2_invalid_nonce',
      });
    });
  });

  it('is failed once its deadline has passed unused', async () => {
    const buyer = await fixture.createBuyer();
    const payment = await order(buyer);
    await fixture.chain.controls.advanceSeconds(400);
    expect(await findEvmOutcome(chain, payment, null)).toEqual({
      outcome: 'failed',
      reason: 'permit2_deadline_expired',
    });
  });
});
