import { createHash } from 'node:crypto';
import {
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  lamports,
  type Address,
  type Transaction,
} from '@solana/kit';
import { FailedTransactionMetadata, LiteSVM, type TransactionMetadata } from 'litesvm';
import { RpcError } from './json-rpc.ts';
import type { SolanaAccount } from './solana-accounts.ts';
import { toRpcTransactionError, type RpcTransactionError } from './solana-errors.ts';
import { createSolanaSlots, type SolanaSlots } from './solana-slots.ts';

/** Lamports a signature. */
export const signatureFee = 5_000;

/** What the runtime said of a transaction. */
interface Execution {
  err: RpcTransactionError | null;
  logs: string[];
  unitsConsumed: number;
  innerInstructions: { index: number; instructions: InnerCall[] }[];
}

interface InnerCall {
  programIdIndex: number;
  accounts: number[];
  data: string;
  stackHeight: number;
}

/** A transaction that is in a block, whether or not it succeeded there. */
export interface LandedTransaction {
  signature: string;
  transaction: Transaction;
  execution: Execution;
  slot: number;
  /** Of this machine's clock. */
  landedAtMs: number;
  /** The accounts of the message, in its order, before and after. */
  before: (SolanaAccount | null)[];
  after: (SolanaAccount | null)[];
}

interface SendSwitches {
  /** Transactions are taken, answered with their signature, and lost. */
  dropSends: boolean;
  /** Transactions are taken and wait for `landHeld`. */
  holdSends: boolean;
}

export interface SolanaLedger {
  slots: SolanaSlots;
  switches: SendSwitches;
  getAccount(at: Address): SolanaAccount | null;
  getProgramAccounts(program: Address): SolanaAccount[];
  setAccount(account: SolanaAccount): void;
  airdrop(to: Address, amount: bigint): void;
  rentExemption(bytes: bigint): bigint;
  simulate(transaction: Transaction, options: SimulateOptions): Execution;
  /** The transaction's signature; throws RpcError for what a node refuses. */
  send(transaction: Transaction, options: { skipPreflight: boolean }): string;
  /** Lands what `holdSends` kept back, as far as it is still valid. */
  landHeld(): void;
  /** The oldest slot of which there is a block. */
  firstAvailableSlot(): number;
  /** Drops all blocks so far, as a node does that starts anew from the state of another one. */
  forgetBlocks(): void;
  find(signature: string): LandedTransaction | null;
  /** Newest first. */
  findByAddress(at: Address): LandedTransaction[];
}

interface SimulateOptions {
  sigVerify: boolean;
  replaceRecentBlockhash: boolean;
}

const refusal = (err: RpcTransactionError): Execution => ({
  err,
  logs: [],
  unitsConsumed: 0,
  innerInstructions: [],
});

const readInnerInstructions = (meta: TransactionMetadata): Execution['innerInstructions'] =>
  meta
    .innerInstructions()
    .map((calls, index) => ({
      index,
      instructions: calls.map((call) => ({
        programIdIndex: call.instruction().programIdIndex(),
        accounts: [...call.instruction().accounts()],
        data: getBase58Decoder().decode(call.instruction().data()),
        stackHeight: call.stackHeight(),
      })),
    }))
    .filter((group) => group.instructions.length > 0);

const readExecution = (meta: TransactionMetadata, failure: FailedTransactionMetadata | null): Execution => ({
  err: failure === null ? null : toRpcTransactionError(failure.err()),
  logs: meta.logs(),
  unitsConsumed: Number(meta.computeUnitsConsumed()),
  innerInstructions: readInnerInstructions(meta),
});

const wrongSignature = (): RpcError => new RpcError(-32_003, 'Transaction signature verification failure');

const signatureOf = (transaction: Transaction): string => {
  const first = Object.values(transaction.signatures)[0];
  if (first === undefined || first === null || Object.values(transaction.signatures).includes(null))
    throw wrongSignature();
  return getBase58Decoder().decode(first);
};

/** The runtime knows a transaction by its message: another signature on it makes no other transaction. */
const messageHashOf = (transaction: Transaction): string =>
  createHash('sha256').update(Uint8Array.from(transaction.messageBytes)).digest('hex');

/** Only what ran pays a fee and gets into a block, failed or not; the other errors keep it out. */
const isInBlock = ({ err }: Execution): boolean =>
  err === null ||
  (typeof err === 'object' && ('InstructionError' in err || 'InsufficientFundsForRent' in err));

const compiledMessageOf = (transaction: Transaction) =>
  getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);

/** The state of one Solana cluster: accounts and programs in litesvm, blocks and history here. */
export const createSolanaLedger = (): SolanaLedger => {
  // Lifetimes and duplicates are ours: litesvm knows one block hash only and no block.
  const svm = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n);
  const slots = createSolanaSlots();
  const switches: SendSwitches = { dropSends: false, holdSends: false };
  const landed = new Map<string, LandedTransaction>();
  const processedMessages = new Set<string>();
  let held: Transaction[] = [];
  let firstAvailableSlot = 0;

  const beginSlot = (): number => {
    const slot = slots.current();
    const clock = svm.getClock();
    clock.slot = BigInt(slot);
    clock.unixTimestamp = BigInt(slots.blockTime(slot));
    svm.setClock(clock);
    return slot;
  };

  /** Why the runtime would not even try it; null: it may run. */
  const findObstacle = (transaction: Transaction): RpcTransactionError | null => {
    const message = compiledMessageOf(transaction);
    if (!('lifetimeToken' in message) || !slots.isValid(message.lifetimeToken)) return 'BlockhashNotFound';
    return processedMessages.has(messageHashOf(transaction)) ? 'AlreadyProcessed' : null;
  };

  const simulate = (transaction: Transaction, options: SimulateOptions): Execution => {
    if (options.sigVerify) signatureOf(transaction);
    const obstacle = options.replaceRecentBlockhash ? null : findObstacle(transaction);
    if (obstacle !== null) return refusal(obstacle);
    beginSlot();
    svm.withSigverify(options.sigVerify);
    try {
      const outcome = svm.simulateTransaction(transaction);
      const failure = outcome instanceof FailedTransactionMetadata ? outcome : null;
      const execution = readExecution(outcome.meta(), failure);
      if (execution.err === 'SignatureFailure') throw wrongSignature();
      return execution;
    } finally {
      svm.withSigverify(true);
    }
  };

  const getAccount = (at: Address): SolanaAccount | null => {
    const account = svm.getAccount(at);
    return account.exists ? account : null;
  };

  const land = (transaction: Transaction): void => {
    if (findObstacle(transaction) !== null) return;
    const signature = signatureOf(transaction);
    const accounts = compiledMessageOf(transaction).staticAccounts;
    const snapshot = () => accounts.map(getAccount);
    const slot = beginSlot();
    const before = snapshot();
    const outcome = svm.sendTransaction(transaction);
    const execution =
      outcome instanceof FailedTransactionMetadata
        ? readExecution(outcome.meta(), outcome)
        : readExecution(outcome, null);
    if (!isInBlock(execution)) return;
    processedMessages.add(messageHashOf(transaction));
    landed.set(signature, {
      signature,
      transaction,
      execution,
      slot,
      landedAtMs: Date.now(),
      before,
      after: snapshot(),
    });
  };

  return {
    slots,
    switches,
    simulate,
    getAccount,
    getProgramAccounts: (program) => svm.getProgramAccounts(program),
    setAccount: (account) =>
      svm.setAccount({
        ...account,
        data: Uint8Array.from(account.data),
        lamports: lamports(account.lamports),
        space: BigInt(account.data.length),
      }),
    airdrop: (to, amount) => {
      svm.airdrop(to, lamports(amount));
    },
    rentExemption: (bytes) => svm.minimumBalanceForRentExemption(bytes),
    send: (transaction, { skipPreflight }) => {
      const signature = signatureOf(transaction);
      if (!skipPreflight) {
        const { err, logs, unitsConsumed } = simulate(transaction, {
          sigVerify: true,
          replaceRecentBlockhash: false,
        });
        if (err !== null)
          throw new RpcError(-32_002, `Transaction simulation failed: ${JSON.stringify(err)}`, {
            accounts: null,
            err,
            innerInstructions: null,
            logs,
            returnData: null,
            unitsConsumed,
          });
      }
      if (switches.dropSends) return signature;
      if (switches.holdSends) held.push(transaction);
      else land(transaction);
      return signature;
    },
    landHeld: () => {
      const waiting = held;
      held = [];
      for (const transaction of waiting) land(transaction);
    },
    firstAvailableSlot: () => firstAvailableSlot,
    forgetBlocks: () => {
      landed.clear();
      firstAvailableSlot = slots.current();
    },
    find: (signature) => landed.get(signature) ?? null,
    findByAddress: (at) =>
      [...landed.values()]
        .filter(({ transaction }) => compiledMessageOf(transaction).staticAccounts.includes(at))
        .reverse(),
  };
};
