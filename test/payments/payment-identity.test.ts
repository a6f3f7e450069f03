import {
  address,
  appendTransactionMessageInstruction,
  blockhash,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import fc from 'fast-check';
import type { Hex } from 'viem';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/kit/errors.ts';
import { requireNetwork } from '../../src/payments/chains/networks.ts';
import { paymentIdentity, type Proof } from '../../src/payments/wire/parse-proof.ts';

const base = requireNetwork('eip155:84532');
const devnet = requireNetwork('solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1');

const evmProof = (change: { from?: Hex; nonce?: Hex; signature?: Hex }): Proof => ({
  network: base,
  accepted: null,
  paymentId: null,
  scheme: 'exact',
  gasPermit: null,
  payload: {
    signature: change.signature ?? '0x01',
    authorization: {
      from: change.from ?? `0x${'ab'.repeat(20)}`,
      to: `0x${'cd'.repeat(20)}`,
      value: '1',
      validAfter: '0',
      validBefore: '2',
      nonce: change.nonce ?? `0x${'ef'.repeat(32)}`,
    },
  },
});

const writeTransaction = (data: number): string => {
  const message = appendTransactionMessageInstruction(
    {
      programAddress: address('MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr'),
      data: Uint8Array.of(data),
    },
    setTransactionMessageLifetimeUsingBlockhash(
      { blockhash: blockhash('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU'), lastValidBlockHeight: 1n },
      setTransactionMessageFeePayer(
        address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'),
        createTransactionMessage({ version: 0 }),
      ),
    ),
  );
  return getBase64EncodedWireTransaction(compileTransaction(message));
};
const solanaProof = (transaction: string): Proof => ({
  network: devnet,
  accepted: null,
  paymentId: null,
  scheme: 'exact',
  gasPermit: null,
  payload: { transaction },
});

it('names a contract wallet by its chain before its signature has deployed it (ERC-6492)', async () => {
  const rpc = { request: () => Promise.resolve('0x') };
  const of = (signature: Hex) => {
    const { payload } = evmProof({ signature });
    const wallet = { address: `0x${'AB'.repeat(20)}`, payload, network: base };
    return base.family.findWallet(wallet, { rpc, signal: new AbortController().signal });
  };
  const key: Hex = `0x${'12'.repeat(65)}`;
  expect(await of(key)).toBe(`eip155:0x${'ab'.repeat(20)}`);
  expect(await of(`${key}${'6492'.repeat(16)}`)).toBe(`eip155:84532:0x${'ab'.repeat(20)}`);
});

describe('the identity of a payment', () => {
  it('is chain, token, payer and nonce on EVM', async () => {
    expect(await paymentIdentity(evmProof({}))).toBe(
      `eip155:84532:0x036cbd53842c5426634e7929541ec2318f3dcf7e:0x${'ab'.repeat(20)}:0x${'ef'.repeat(32)}`,
    );
    const same = await paymentIdentity(evmProof({ signature: '0x02' }));
    expect(same).toBe(await paymentIdentity(evmProof({})));
    const other = await paymentIdentity(evmProof({ nonce: `0x${'00'.repeat(32)}` }));
    expect(other).not.toBe(same);
  });

  it('is chain, Permit2, payer and nonce through Permit2, whatever the token', async () => {
    const permit = (token: Hex, nonce: string): Proof => ({
      network: requireNetwork('eip155:97'),
      accepted: null,
      paymentId: null,
      scheme: 'exact',
      gasPermit: null,
      payload: {
        signature: '0x01',
        permit2Authorization: {
          from: `0x${'ab'.repeat(20)}`,
          permitted: { token, amount: '1' },
          spender: `0x${'40'.repeat(20)}`,
          nonce,
          deadline: '2',
          witness: { to: `0x${'cd'.repeat(20)}`, validAfter: '0' },
        },
      },
    });
    const identity = await paymentIdentity(permit(`0x${'01'.repeat(20)}`, '7'));
    expect(identity).toBe(`eip155:97:0x000000000022d473030f116ddee9f6b43ac78ba3:0x${'ab'.repeat(20)}:7`);
    expect(await paymentIdentity(permit(`0x${'02'.repeat(20)}`, '7'))).toBe(identity);
    expect(await paymentIdentity(permit(`0x${'01'.repeat(20)}`, '8'))).not.toBe(identity);
  });

  it('is cluster and message on Solana, whatever is in the signature slots', async () => {
    const transaction = writeTransaction(1);
    const bytes = Buffer.from(transaction, 'base64');
    bytes.fill(7, 1, 65);
    const signedOtherwise = bytes.toString('base64');
    const identity = await paymentIdentity(solanaProof(transaction));
    expect(identity).toMatch(/^solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1:[0-9a-f]{64}$/);
    expect(await paymentIdentity(solanaProof(signedOtherwise))).toBe(identity);
    expect(await paymentIdentity(solanaProof(writeTransaction(2)))).not.toBe(identity);
  });

  it('cannot be varied by bytes that the chain would not see', async () => {
    const bytes = Buffer.from(writeTransaction(1), 'base64');
    const longer = Buffer.concat([bytes, Buffer.of(0)]).toString('base64');
    await expect(paymentIdentity(solanaProof(longer))).rejects.toBeInstanceOf(AppError);
    await expect(paymentIdentity(solanaProof('AAAA'))).rejects.toMatchObject({ code: 'invalid_payment' });
    const cut = bytes.subarray(0, -1).toString('base64');
    await expect(paymentIdentity(solanaProof(cut))).rejects.toMatchObject({ code: 'invalid_payment' });
  });

  it('is refused for any bytes that are no transaction', async () => {
    const valid = Buffer.from(writeTransaction(1), 'base64');
    const anyBytes = fc.oneof(
      fc.uint8Array({ maxLength: 400 }),
      fc.tuple(fc.nat(valid.length - 1), fc.nat(255), fc.nat(valid.length)).map(([index, value, length]) =>
        Buffer.from(valid)
          .fill(value, index, index + 1)
          .subarray(0, length),
      ),
    );
    await fc.assert(
      fc.asyncProperty(anyBytes, async (bytes) => {
        const identity = await paymentIdentity(solanaProof(Buffer.from(bytes).toString('base64'))).catch(
          (error: unknown) => (error instanceof AppError ? error.code : Promise.reject(error)),
        );
        expect(identity).toMatch(/^(?:solana:.*:[0-9a-f]{64}|invalid_payment)$/);
      }),
      { numRuns: 500 },
    );
  });

  it('that cannot be found out by a fault of this service does not blame the proof', async () => {
    const fault = new Error('the package cannot be loaded');
    const family = { ...devnet.family, identify: () => Promise.reject(fault) };
    const proof = { ...solanaProof(writeTransaction(1)), network: { ...devnet, family } };
    await expect(paymentIdentity(proof)).rejects.toBe(fault);
  });
});
