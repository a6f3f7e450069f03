import {
  AccountRole,
  address,
  appendTransactionMessageInstruction,
  blockhash,
  compileTransaction,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getStructEncoder,
  getU64Encoder,
  getU8Encoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit';
import { describe, expect, it } from 'vitest';
import { encodeBase58 } from '../../../../src/payments/chains/solana/base58.ts';
import type { PaymentRequirements } from '../../../../src/payments/chains/core/wire.ts';
import { evmFamily } from '../../../../src/payments/chains/evm/evm-family.ts';
import type { EvmPayload } from '../../../../src/payments/chains/evm/evm-payload.ts';
import { solanaFamily } from '../../../../src/payments/chains/solana/solana-family.ts';
import { findTokenAccount } from '../../../../src/payments/chains/solana/solana-transaction.ts';

const key = (seed: number): string => encodeBase58(new Uint8Array(32).fill(seed));
const [mint, seller, feePayer, owner, delegate] = [1, 2, 3, 4, 5].map(key) as [
  string,
  string,
  string,
  string,
  string,
];
const terms: PaymentRequirements = {
  scheme: 'exact',
  network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
  asset: mint,
  amount: '100000',
  payTo: seller,
  maxTimeoutSeconds: 300,
  extra: {},
};
const resource = { url: 'https://leads.example/v1/search', description: '', mimeType: '' };
const accountsOnEvm = (payload: EvmPayload) =>
  evmFamily.findPayingAccounts({
    payload: { x402Version: 2, resource, accepted: terms, payload },
    requirements: terms,
  });

/** A transfer of an owner's tokens that somebody signs. */
const transferBy = async (signer: string, amount = 100_000n): Promise<string> => {
  const transfer = {
    programAddress: address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'),
    accounts: [
      { address: address(await findTokenAccount({ owner, mint })), role: AccountRole.WRITABLE },
      { address: address(mint), role: AccountRole.READONLY },
      { address: address(await findTokenAccount({ owner: seller, mint })), role: AccountRole.WRITABLE },
      { address: address(signer), role: AccountRole.READONLY_SIGNER },
    ],
    data: getStructEncoder([
      ['kind', getU8Encoder()],
      ['amount', getU64Encoder()],
      ['decimals', getU8Encoder()],
    ]).encode({ kind: 12, amount, decimals: 6 }),
  };
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (draft) => setTransactionMessageFeePayer(address(feePayer), draft),
    (draft) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash(key(9)), lastValidBlockHeight: 1n },
        draft,
      ),
    (draft) => appendTransactionMessageInstruction(transfer, draft),
  );
  return getBase64EncodedWireTransaction(compileTransaction(message));
};
const accountsOnSolana = async (transaction: string) =>
  solanaFamily.findPayingAccounts({
    payload: { x402Version: 2, resource, accepted: terms, payload: { transaction } },
    requirements: terms,
  });

describe('the accounts that pay', () => {
  it('are the wallet that signed the authorization on EVM chains, by either way of transfer', async () => {
    const from = `0x${'A'.repeat(40)}` as const;
    const to = `0x${'b'.repeat(40)}` as const;
    const common = { signature: '0x01' } as const;
    const authorization = { from, to, value: '1', validAfter: '0', validBefore: '1', nonce: '0x02' } as const;
    const accounts = { payer: from, source: from.toLowerCase() };
    expect(await accountsOnEvm({ ...common, authorization })).toEqual(accounts);
    const permit2Authorization = {
      from,
      permitted: { token: to, amount: '1' },
      spender: to,
      nonce: '1',
      deadline: '1',
      witness: { to, validAfter: '0' },
    } as const;
    expect(await accountsOnEvm({ ...common, permit2Authorization })).toEqual(accounts);
  });

  it('are the owner of the tokens and its token account on Solana, and no known payer for a delegate', async () => {
    const source = await findTokenAccount({ owner, mint });
    expect(await accountsOnSolana(await transferBy(owner))).toEqual({ payer: owner, source });
    expect(await accountsOnSolana(await transferBy(delegate))).toEqual({ payer: null, source });
    expect(await accountsOnSolana(await transferBy(owner, 99_999n))).toBeNull();
  });
});
