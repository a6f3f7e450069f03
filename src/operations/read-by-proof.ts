import { AppError } from '../kit/errors.ts';
import type { Proofs } from '../payments/sale/gate.ts';
import type { Answer } from './answer.ts';
import type { AccountCall, Call, Services } from './call.ts';
import type { Operation } from './definition.ts';
import { toJobId } from './id-field.ts';
import { countCall } from './paid-call.ts';
import type { ProofRead } from './sale-rules.ts';
import { toWalletCaller, withoutBalance } from './sell-call.ts';
import { validate } from './validate.ts';

/** A call without a key, with a payment proof in its place. */
export type ProofCall = Call & { caller: null; proofs: Proofs };

/**
 * Answers a read with the proof of the payment that paid for what it names: a job, or else the payment itself. Anybody can
 * find the proof on the chain, so it reads no job whose id is not known, and no balance.
 */
export const readByProof = async (
  { operation, sale, rawInput }: { operation: Operation; sale: ProofRead; rawInput: unknown },
  call: ProofCall,
  services: Services,
): Promise<Answer> => {
  const account = await admitByProof(operation, call, services);
  const input = validate(operation, rawInput, call.transport);
  const { jobId, credit, identity, transaction } = account.bought;
  const named = sale.names(input);
  const isBought =
    // The job of a payment that raised no balance is of the account whose key came with it.
    jobId === null || credit === null
      ? [named, named.toLowerCase()].some((name) => name === identity || name === transaction)
      : toJobId(named) === jobId;
  if (!isBought) throw notBought();
  return withoutBalance(await sale.handle(input, account, services), services);
};

/** Admits a read as the account whose payment the proof made. What it reads must be compared with that payment. */
export const admitByProof = async (
  operation: Pick<Operation, 'name'>,
  call: ProofCall,
  services: Services,
): Promise<AccountCall & Required<Pick<AccountCall, 'bought'>>> => {
  await countCall(operation, call, services);
  const bought = await services.x402.recall(call.proofs);
  const { accountId } = bought;
  const account = accountId === null ? null : await services.store.getWalletAccount(accountId);
  // A payment that came with the key of another account raised the balance of that one.
  if (accountId !== null && account === null) throw notBought();
  if (account !== null && account.status !== 'active')
    throw new AppError('permission_denied', 'The account of this wallet is suspended. Ask the operator.');
  return { ...call, caller: toWalletCaller(account, { available: 0n, services }), bought };
};

const notBought = (): AppError =>
  new AppError(
    'permission_denied',
    'This payment proof did not pay for that, or is asked for it by another name: it reads a job by the id of the job, and ' +
      'a search or a top-up by the hash of its payment. Send the proof that paid, or a key.',
  );
