import {
  address,
  createSolanaRpc,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getSolanaErrorFromTransactionError,
  getTransactionDecoder,
  isSolanaError,
  SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND,
  SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE,
  SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED,
  SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND,
  type Base64EncodedWireTransaction,
} from '@solana/kit';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { signUsdcTransfer } from './sign-usdc-transfer.ts';
import { startSolanaChain, type SolanaChain } from './solana-chain.ts';

const startingFunds = 10_000_000n;

describe('the local Solana chain', () => {
  const started: SolanaChain[] = [];
  let chain: SolanaChain;
  let rpc: ReturnType<typeof createSolanaRpc>;

  beforeEach(async () => {
    chain = await startSolanaChain();
    started.push(chain);
    rpc = createSolanaRpc(chain.rpcUrl);
    await chain.mint(chain.buyer.address, startingFunds);
  });
  afterAll(() => Promise.all(started.map((each) => each.stop())));

  const signTransfer = async (amount: bigint) => {
    const { value: lifetime } = await rpc.getLatestBlockhash().send();
    return signUsdcTransfer(chain, { amount, lifetime });
  };
  const send = (wire: Base64EncodedWireTransaction, { skipPreflight = false } = {}) =>
    rpc.sendTransaction(wire, { encoding: 'base64', skipPreflight }).send();
  /** A call without kit's help, for what its types rule out. */
  const post = async (method: string, ...params: unknown[]): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return (await fetch(chain.rpcUrl, { method: 'POST', body })).json();
  };
  const statusOf = async (signature: Awaited<ReturnType<typeof send>>) =>
    (await rpc.getSignatureStatuses([signature]).send()).value[0];
  /** The code of the transaction error for which the send was refused before it was tried. */
  const refusalOf = async (sending: Promise<unknown>): Promise<unknown> => {
    const error = await sending.then(
      () => new Error('The send was not refused'),
      (refusal: unknown) => refusal,
    );
    if (!isSolanaError(error, SOLANA_ERROR__JSON_RPC__SERVER_ERROR_SEND_TRANSACTION_PREFLIGHT_FAILURE))
      throw error;
    return isSolanaError(error.cause) ? error.cause.context.__code : error.cause;
  };

  it('is devnet by its genesis hash', async () => {
    const hash = await rpc.getGenesisHash().send();
    expect(`solana:${hash.slice(0, 32)}`).toBe(chain.network);
  });

  it('answers the questions about its health and age', async () => {
    expect(await rpc.getHealth().send()).toBe('ok');
    expect(await rpc.getVersion().send()).toHaveProperty('solana-core');
    expect(await rpc.getSlot().send()).toBeGreaterThan(0n);
    expect(await rpc.getBlockHeight().send()).toBeGreaterThan(0n);
    expect(await rpc.getMinimumBalanceForRentExemption(165n).send()).toBe(2_039_280n);
  });

  it('tells of the newest slot, and of the newest that is final', async () => {
    const newest = await rpc.getSlot({ commitment: 'confirmed' }).send();
    const final = await rpc.getSlot({ commitment: 'finalized' }).send();
    expect(final).toBeLessThan(newest);
    chain.controls.advanceSlots(32);
    expect(await rpc.getSlot({ commitment: 'finalized' }).send()).toBeGreaterThanOrEqual(newest);
  });

  it('knows no other methods', async () => {
    const unknown = rpc.getVoteAccounts().send();
    await expect(unknown).rejects.toThrow('Method not found');
    await expect(unknown).rejects.toMatchObject({
      context: { __code: SOLANA_ERROR__JSON_RPC__METHOD_NOT_FOUND },
    });
  });

  it('refuses what is no address', async () => {
    expect(await post('getBalance', 'nonsense')).toMatchObject({ id: 1, error: { code: -32_602 } });
  });

  it('shows token accounts, the mint and balances', async () => {
    const [account] = (
      await rpc
        .getTokenAccountsByOwner(chain.buyer.address, { mint: chain.usdc }, { encoding: 'jsonParsed' })
        .send()
    ).value;
    expect(account?.account.data).toMatchObject({
      parsed: { info: { mint: chain.usdc, tokenAmount: { amount: '10000000', uiAmountString: '10' } } },
    });
    const seller = await rpc.getTokenAccountBalance(chain.seller.tokenAccount).send();
    expect(seller.value).toEqual({ amount: '0', decimals: 6, uiAmount: 0, uiAmountString: '0' });
    const mint = await rpc.getAccountInfo(chain.usdc, { encoding: 'jsonParsed' }).send();
    expect(mint.value?.data).toMatchObject({
      parsed: { type: 'mint', info: { decimals: 6, supply: '10000000' } },
    });
    const several = await rpc
      .getMultipleAccounts([chain.usdc, chain.buyer.address], { encoding: 'base64' })
      .send();
    expect(several.value.map((each) => each?.space ?? null)).toEqual([82n, null]);
    expect((await rpc.getBalance(chain.buyer.address).send()).value).toBe(0n);
    expect(await post('getAccountInfo', chain.buyer.address)).toMatchObject({ result: { value: null } });
  });

  it('gives SOL on request', async () => {
    expect(await post('requestAirdrop', chain.buyer.address, 5_000_000)).toHaveProperty('result');
    expect((await rpc.getBalance(chain.buyer.address).send()).value).toBe(5_000_000n);
  });

  it("moves the buyer's USDC, for a fee in SOL from the facilitator", async () => {
    const solBefore = (await rpc.getBalance(chain.facilitator.address).send()).value;
    const { wire, signature } = await signTransfer(1_250_000n);

    expect(await send(wire)).toBe(signature);

    expect(await chain.balanceOf(chain.buyer.address)).toBe(startingFunds - 1_250_000n);
    expect(await chain.balanceOf(chain.seller.address)).toBe(1_250_000n);
    const solAfter = (await rpc.getBalance(chain.facilitator.address).send()).value;
    expect(solBefore - solAfter).toBe(10_000n);
    expect(await statusOf(signature)).toMatchObject({ err: null, confirmationStatus: 'confirmed' });
  });

  it('gives the transaction back, with what it changed', async () => {
    const { wire, signature } = await signTransfer(1_250_000n);
    await send(wire);

    const asJson = await rpc
      .getTransaction(signature, { encoding: 'json', maxSupportedTransactionVersion: 0 })
      .send();
    const keys = asJson?.transaction.message.accountKeys ?? [];
    const seller = keys.indexOf(chain.seller.tokenAccount);
    expect(asJson).toMatchObject({ transaction: { signatures: [signature, expect.anything()] } });
    expect(asJson?.meta).toMatchObject({ err: null, fee: 10_000n });
    expect(asJson?.meta?.postTokenBalances?.find((each) => each.accountIndex === seller)).toMatchObject({
      mint: chain.usdc,
      owner: chain.seller.address,
      uiTokenAmount: { amount: '1250000' },
    });
    const asBytes = await rpc
      .getTransaction(signature, { encoding: 'base64', maxSupportedTransactionVersion: 0 })
      .send();
    expect(asBytes?.transaction[0]).toBe(wire);
  });

  it('makes a transaction final after 32 slots', async () => {
    const { wire, signature } = await signTransfer(1n);
    await send(wire);
    chain.controls.advanceSlots(32);
    expect(await statusOf(signature)).toMatchObject({ confirmations: null, confirmationStatus: 'finalized' });
  });

  it('simulates without signatures and without effect', async () => {
    const { wire } = await signTransfer(1n);
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(wire));
    const unsigned = getBase64EncodedWireTransaction({
      ...transaction,
      signatures: Object.fromEntries(Object.keys(transaction.signatures).map((signer) => [signer, null])),
    });

    const lenient = await rpc.simulateTransaction(unsigned, { encoding: 'base64' }).send();

    expect(lenient.value.err).toBeNull();
    expect(lenient.value.unitsConsumed).toBeGreaterThan(0n);
    await expect(
      rpc.simulateTransaction(unsigned, { encoding: 'base64', sigVerify: true }).send(),
    ).rejects.toThrow('signature verification failure');
    expect(await chain.balanceOf(chain.seller.address)).toBe(0n);
  });

  it('says that a transaction was processed already, whether or not that is asked beforehand', async () => {
    const { wire, signature } = await signTransfer(1_000n);
    await send(wire);

    expect(await refusalOf(send(wire))).toBe(SOLANA_ERROR__TRANSACTION_ERROR__ALREADY_PROCESSED);
    const simulated = await rpc.simulateTransaction(wire, { encoding: 'base64' }).send();
    expect(simulated.value.err).toBe('AlreadyProcessed');
    expect(await send(wire, { skipPreflight: true })).toBe(signature);
    expect(await chain.balanceOf(chain.seller.address)).toBe(1_000n);
  });

  it('refuses an expired blockhash', async () => {
    const { value: lifetime } = await rpc.getLatestBlockhash().send();
    const { wire, signature } = await signUsdcTransfer(chain, { amount: 1n, lifetime });
    expect((await rpc.isBlockhashValid(lifetime.blockhash).send()).value).toBe(true);

    chain.controls.expireBlockhash();

    expect((await rpc.isBlockhashValid(lifetime.blockhash).send()).value).toBe(false);
    expect(await rpc.getBlockHeight().send()).toBeGreaterThan(lifetime.lastValidBlockHeight);
    expect(await refusalOf(send(wire))).toBe(SOLANA_ERROR__TRANSACTION_ERROR__BLOCKHASH_NOT_FOUND);
    await send(wire, { skipPreflight: true });
    expect(await statusOf(signature)).toBeNull();
    const replaced = await rpc
      .simulateTransaction(wire, { encoding: 'base64', replaceRecentBlockhash: true })
      .send();
    expect(replaced.value.err).toBeNull();
  });

  it('tells the time of its blocks, which goes on with the slots that are skipped', async () => {
    const askedAt = Date.now() / 1_000;
    const tip = await rpc.getSlot({ commitment: 'confirmed' }).send();
    const now = Number(await rpc.getBlockTime(tip).send());
    expect(now).toBeGreaterThan(askedAt - 5);
    expect(now).toBeLessThan(Date.now() / 1_000 + 5);
    chain.controls.advanceSlots(150);
    const laterTip = await rpc.getSlot({ commitment: 'confirmed' }).send();
    const later = Number(await rpc.getBlockTime(laterTip).send());
    expect(later - now).toBeGreaterThanOrEqual(59);
    await expect(rpc.getBlockTime(tip + 1_000n).send()).rejects.toThrow('Block not available');
    const { wire, signature } = await signTransfer(1n);
    await send(wire);
    const [listed] = await rpc.getSignaturesForAddress(chain.buyer.address).send();
    expect(listed?.signature).toBe(signature);
    expect(Number(listed?.blockTime)).toBeGreaterThanOrEqual(later);
  });

  it('has blocks from before its start, until it forgets them', async () => {
    const first = await rpc.getFirstAvailableBlock().send();
    const tip = await rpc.getSlot().send();
    expect(Number(await rpc.getBlockTime(first).send())).toBeLessThan(Date.now() / 1_000 - 300);
    expect(await rpc.getBlocksWithLimit(first, 1).send()).toEqual([first]);
    const { wire, signature } = await signTransfer(1n);
    await send(wire);

    chain.controls.forgetBlocks();

    expect(await rpc.getFirstAvailableBlock().send()).toBeGreaterThanOrEqual(tip);
    await expect(rpc.getBlockTime(first).send()).rejects.toThrow('cleaned up');
    const [oldest] = await rpc.getBlocksWithLimit(first, 1).send();
    expect(oldest).toBeGreaterThanOrEqual(tip);
    expect(await rpc.getBlocksWithLimit(tip + 1_000n, 1).send()).toEqual([]);
    expect(await statusOf(signature)).toBeNull();
    expect(await chain.balanceOf(chain.seller.address)).toBe(1n);
  });

  it('lists the transactions of an address page by page, newest first', async () => {
    const sent: string[] = [];
    for (const amount of [1n, 2n, 3n]) sent.unshift(await send((await signTransfer(amount)).wire));
    const list = async (page: object): Promise<string[]> =>
      (await rpc.getSignaturesForAddress(chain.buyer.address, page).send()).map(({ signature }) => signature);
    expect(await list({})).toEqual(sent);
    expect(await list({ limit: 1, before: sent[0] })).toEqual(sent.slice(1, 2));
    expect(await list({ before: '1'.repeat(64) })).toEqual([]);
  });

  it('does not answer for a slot that it has not reached', async () => {
    const minContextSlot = (await rpc.getSlot().send()) + 1_000n;
    const { value: lifetime } = await rpc.getLatestBlockhash().send();
    const notReached = 'Minimum context slot has not been reached';
    const asked = { minContextSlot };
    await expect(rpc.isBlockhashValid(lifetime.blockhash, asked).send()).rejects.toThrow(notReached);
    const list = () => rpc.getSignaturesForAddress(chain.buyer.address, asked).send();
    await expect(list()).rejects.toThrow(notReached);
    chain.controls.advanceSlots(1_000);
    expect(await list()).toEqual([]);
  });

  it('refuses more than the buyer has, in the words of the token program', async () => {
    const { wire } = await signTransfer(startingFunds + 1n);
    const simulated = await rpc.simulateTransaction(wire, { encoding: 'base64' }).send();
    expect(simulated.value.err).toEqual({ InstructionError: [0n, { Custom: 1n }] });
    expect(await refusalOf(send(wire))).toBe(
      getSolanaErrorFromTransactionError({ InstructionError: [0, { Custom: 1 }] }).context.__code,
    );
  });

  it('lands what fails in its block when nobody asked beforehand, for the fee alone', async () => {
    const solBefore = (await rpc.getBalance(chain.facilitator.address).send()).value;
    const { wire, signature } = await signTransfer(startingFunds + 1n);
    await send(wire, { skipPreflight: true });
    expect(await statusOf(signature)).toMatchObject({ err: { InstructionError: [0n, { Custom: 1n }] } });
    expect(await chain.balanceOf(chain.buyer.address)).toBe(startingFunds);
    const solAfter = (await rpc.getBalance(chain.facilitator.address).send()).value;
    expect(solBefore - solAfter).toBe(10_000n);
  });

  it('never lands a dropped send', async () => {
    chain.controls.dropSends = true;
    const { wire, signature } = await signTransfer(1n);
    expect(await send(wire)).toBe(signature);
    chain.controls.dropSends = false;
    expect(await statusOf(signature)).toBeNull();
    expect(await chain.balanceOf(chain.seller.address)).toBe(0n);
  });

  it('keeps a held send until it is let go', async () => {
    chain.controls.holdSends = true;
    const { wire, signature } = await signTransfer(3n);
    await send(wire);
    expect(await statusOf(signature)).toBeNull();

    chain.controls.landHeld();

    expect(await statusOf(signature)).toMatchObject({ err: null });
    expect(await chain.balanceOf(chain.seller.address)).toBe(3n);
  });

  it('loses a held send whose blockhash expires', async () => {
    chain.controls.holdSends = true;
    const { wire, signature } = await signTransfer(3n);
    await send(wire);
    chain.controls.expireBlockhash();
    chain.controls.landHeld();
    expect(await statusOf(signature)).toBeNull();
    expect(await chain.balanceOf(chain.seller.address)).toBe(0n);
  });

  it('hides a landed transaction until its confirmation is due', async () => {
    chain.controls.confirmDelayMs = 3_600_000;
    const { wire, signature } = await signTransfer(4n);
    await send(wire);
    expect(await statusOf(signature)).toBeNull();
    expect(
      await rpc.getTransaction(signature, { encoding: 'json', maxSupportedTransactionVersion: 0 }).send(),
    ).toBeNull();

    chain.controls.confirmDelayMs = 0;

    expect(await statusOf(signature)).toMatchObject({ err: null, confirmationStatus: 'confirmed' });
  });

  it('can be out of reach', async () => {
    chain.controls.inject({ fault: 'disconnect' });
    await expect(rpc.getSlot().send()).rejects.toThrow('fetch failed');
    chain.controls.clearFaults();
    expect(await rpc.getSlot().send()).toBeGreaterThan(0n);
  });

  it('tells the fee of a message while its blockhash is good', async () => {
    const { wire } = await signTransfer(1n);
    const { messageBytes } = getTransactionDecoder().decode(getBase64Encoder().encode(wire));
    const message = Buffer.from(Uint8Array.from(messageBytes)).toString('base64');
    expect(await post('getFeeForMessage', message)).toMatchObject({ result: { value: 10_000 } });
    chain.controls.expireBlockhash();
    expect(await post('getFeeForMessage', message)).toMatchObject({ result: { value: null } });
  });

  it('has no USDC for strangers until it is minted for them', async () => {
    const stranger = address('11111111111111111111111111111112');
    expect(await chain.balanceOf(stranger)).toBe(0n);
    await chain.mint(stranger, 5n);
    expect(await chain.balanceOf(stranger)).toBe(5n);
  });

  it('loses no mint when several come at once', async () => {
    await Promise.all(Array.from({ length: 10 }, () => chain.mint(chain.seller.address, 1n)));
    expect(await chain.balanceOf(chain.seller.address)).toBe(10n);
  });
});
