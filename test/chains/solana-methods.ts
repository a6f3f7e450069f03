import { randomBytes } from 'node:crypto';
import {
  address,
  getBase58Decoder,
  getBase58Encoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  isAddress,
  isSignature,
  type Transaction,
} from '@solana/kit';
import { z } from 'zod';
import { invalidParams, methodNotFound, RpcError } from './json-rpc.ts';
import { readTokenAccount, tokenProgram } from './solana-accounts.ts';
import { signatureFee, type LandedTransaction, type SolanaLedger } from './solana-ledger.ts';
import { viewAccount, viewOutcome, viewTokenAmount, viewTransaction } from './solana-views.ts';

/** The genesis hash of Solana's devnet, from which its CAIP-2 name is cut. */
const devnetGenesisHash = 'EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG';

const slotsToFinality = 32;
const maxAccounts = 100;
const maxSignatures = 256;
const blockCleanedUp = -32_001;
const blockNotAvailable = -32_004;
const minContextSlotNotReached = -32_016;

const addressParam = z
  .string()
  .refine(isAddress, 'Invalid param: WrongSize')
  .transform((text) => address(text));
const signatureParam = z.string().refine(isSignature, 'Invalid param: Invalid');
const binaryEncoding = z.enum(['base58', 'base64']);
const accountConfig = z
  .object({
    encoding: z.enum(['base58', 'base64', 'jsonParsed']).default('base58'),
    dataSlice: z.undefined({ error: 'dataSlice is not supported here' }).optional(),
  })
  .default({ encoding: 'base58' });
const anything = z.unknown();
const oneAddress = z.tuple([addressParam]).rest(anything);
const u64 = z.int().min(0).transform(BigInt);
const slotParam = z.int().min(0);
const commitmentParam = z.object({
  commitment: z.enum(['processed', 'confirmed', 'finalized']).default('finalized'),
});
const slotBound = z.object({ minContextSlot: slotParam.default(0) }).default({ minContextSlot: 0 });

const decodeTransaction = (text: string, encoding: z.infer<typeof binaryEncoding>): Transaction => {
  const encoder = encoding === 'base58' ? getBase58Encoder() : getBase64Encoder();
  try {
    return getTransactionDecoder().decode(encoder.encode(text));
  } catch (error) {
    throw new RpcError(invalidParams, `failed to deserialize the transaction: ${String(error)}`);
  }
};

type Method = (params: unknown) => unknown;

const method =
  <S extends z.ZodType>(schema: S, handle: (params: z.output<S>) => unknown): Method =>
  (params) => {
    const parsed = schema.safeParse(params ?? []);
    if (!parsed.success)
      throw new RpcError(invalidParams, `Invalid params: ${parsed.error.issues[0]?.message ?? ''}`);
    return handle(parsed.data);
  };

const noParams = z.array(anything);

interface MethodContext {
  ledger: SolanaLedger;
  /** How long a landed transaction stays invisible. */
  confirmDelayMs: () => number;
}

const createReaders = ({ ledger, confirmDelayMs }: MethodContext) => {
  const slot = (): number => ledger.slots.current();
  return {
    slot,
    requireSlot: (minContextSlot: number): void => {
      if (slot() < minContextSlot)
        throw new RpcError(minContextSlotNotReached, 'Minimum context slot has not been reached');
    },
    withContext: (value: unknown) => ({ context: { apiVersion: '2.3.0', slot: slot() }, value }),
    findVisible: (signature: string): LandedTransaction | null => {
      const landed = ledger.find(signature);
      return landed === null || Date.now() - landed.landedAtMs < confirmDelayMs() ? null : landed;
    },
  };
};

type Readers = ReturnType<typeof createReaders>;

const clusterMethods = (
  ledger: SolanaLedger,
  { slot, requireSlot, withContext }: Readers,
): Record<string, Method> => ({
  getHealth: method(noParams, () => 'ok'),
  getVersion: method(noParams, () => ({ 'solana-core': '2.3.0', 'feature-set': 0 })),
  getGenesisHash: method(noParams, () => devnetGenesisHash),
  getSlot: method(
    z.tuple([commitmentParam]).or(z.tuple([])),
    ([{ commitment } = { commitment: 'finalized' }]) =>
      commitment === 'finalized' ? slot() - slotsToFinality : slot(),
  ),
  getBlockHeight: method(noParams, slot),
  getLatestBlockhash: method(noParams, () => withContext(ledger.slots.latestBlockhash())),
  isBlockhashValid: method(z.tuple([z.string(), slotBound]), ([hash, { minContextSlot }]) => {
    requireSlot(minContextSlot);
    return withContext(ledger.slots.isValid(hash));
  }),
  getFirstAvailableBlock: method(noParams, () => ledger.firstAvailableSlot()),
  getBlocksWithLimit: method(z.tuple([slotParam, slotParam]).rest(anything), ([from, limit]) => {
    const first = Math.max(from, ledger.firstAvailableSlot());
    return Array.from({ length: Math.max(0, Math.min(limit, slot() - first + 1)) }, (_, at) => first + at);
  }),
  getBlockTime: method(z.tuple([slotParam]).rest(anything), ([at]) => {
    if (at > slot()) throw new RpcError(blockNotAvailable, `Block not available for slot ${at}`);
    if (at < ledger.firstAvailableSlot())
      throw new RpcError(
        blockCleanedUp,
        `Block ${at} cleaned up, does not exist on node. First available block: ${ledger.firstAvailableSlot()}`,
      );
    return ledger.slots.blockTime(at);
  }),
  getMinimumBalanceForRentExemption: method(z.tuple([u64]).rest(anything), ([bytes]) =>
    Number(ledger.rentExemption(bytes)),
  ),
  getFeeForMessage: method(z.tuple([z.base64()]).rest(anything), ([text]) => {
    const message = getCompiledTransactionMessageDecoder().decode(getBase64Encoder().encode(text));
    const isValid = 'lifetimeToken' in message && ledger.slots.isValid(message.lifetimeToken);
    return withContext(isValid ? signatureFee * message.header.numSignerAccounts : null);
  }),
});

const clockAddress = 'SysvarC1ock11111111111111111111111111111111';

/** The account in which the cluster writes down its time, as of the newest final block. */
const viewClock = ({ slots }: SolanaLedger) => {
  const slot = slots.current() - slotsToFinality;
  const data = Buffer.alloc(40);
  data.writeBigUInt64LE(BigInt(slot), 0);
  data.writeBigInt64LE(BigInt(slots.blockTime(slot)), 32);
  return {
    data: [data.toString('base64'), 'base64'],
    executable: false,
    lamports: 1_169_280,
    owner: 'Sysvar1111111111111111111111111111111111111',
    rentEpoch: 0,
    space: data.length,
  };
};

const accountMethods = (ledger: SolanaLedger, { withContext }: Readers): Record<string, Method> => ({
  getBalance: method(oneAddress, ([at]) => {
    const account = ledger.getAccount(at);
    return withContext(Number(account?.lamports ?? 0n));
  }),
  getAccountInfo: method(z.tuple([addressParam, accountConfig]), ([at, { encoding }]) =>
    withContext(
      at === clockAddress ? viewClock(ledger) : viewAccount(ledger, ledger.getAccount(at), encoding),
    ),
  ),
  getMultipleAccounts: method(
    z.tuple([z.array(addressParam).max(maxAccounts), accountConfig]),
    ([addresses, { encoding }]) =>
      withContext(addresses.map((at) => viewAccount(ledger, ledger.getAccount(at), encoding))),
  ),
  getTokenAccountBalance: method(oneAddress, ([at]) => {
    const token = readTokenAccount(ledger.getAccount(at));
    if (token === null) throw new RpcError(invalidParams, 'Invalid param: could not find account');
    return withContext(viewTokenAmount(ledger, token));
  }),
  getTokenAccountsByOwner: method(
    z.tuple([
      addressParam,
      z.union([z.object({ mint: addressParam }), z.object({ programId: addressParam })]),
      accountConfig,
    ]),
    ([owner, filter, { encoding }]) =>
      withContext(
        ledger.getProgramAccounts(tokenProgram).flatMap((account) => {
          const token = readTokenAccount(account);
          const isWanted =
            token?.owner === owner &&
            ('mint' in filter ? token.mint === filter.mint : filter.programId === tokenProgram);
          return isWanted
            ? [{ pubkey: account.address, account: viewAccount(ledger, account, encoding) }]
            : [];
        }),
      ),
  ),
  requestAirdrop: method(z.tuple([addressParam, u64]).rest(anything), ([to, amount]) => {
    ledger.airdrop(to, amount);
    return getBase58Decoder().decode(randomBytes(64));
  }),
});

const simulateConfig = z
  .object({
    encoding: binaryEncoding.default('base58'),
    sigVerify: z.boolean().default(false),
    replaceRecentBlockhash: z.boolean().default(false),
    innerInstructions: z.boolean().default(false),
    accounts: z.undefined({ error: 'accounts are not supported here' }).optional(),
  })
  .default({ encoding: 'base58', sigVerify: false, replaceRecentBlockhash: false, innerInstructions: false });
const sendConfig = z
  .object({ encoding: binaryEncoding.default('base58'), skipPreflight: z.boolean().default(false) })
  .default({ encoding: 'base58', skipPreflight: false });
const signaturesConfig = z
  .object({
    limit: z.int().min(1).max(1_000).default(1_000),
    before: z.string().optional(),
    minContextSlot: slotParam.default(0),
  })
  .default({ limit: 1_000, minContextSlot: 0 });
const transactionConfig = z
  .object({ encoding: z.enum(['base58', 'base64', 'json']).default('json') })
  .default({ encoding: 'json' });

const transactionMethods = (ledger: SolanaLedger, readers: Readers): Record<string, Method> => ({
  simulateTransaction: method(z.tuple([z.string(), simulateConfig]), ([text, config]) => {
    const execution = ledger.simulate(decodeTransaction(text, config.encoding), config);
    return readers.withContext({
      err: execution.err,
      logs: execution.logs,
      unitsConsumed: execution.unitsConsumed,
      innerInstructions: config.innerInstructions ? execution.innerInstructions : null,
      accounts: null,
      returnData: null,
      ...(config.replaceRecentBlockhash ? { replacementBlockhash: ledger.slots.latestBlockhash() } : {}),
    });
  }),
  sendTransaction: method(z.tuple([z.string(), sendConfig]), ([text, config]) =>
    ledger.send(decodeTransaction(text, config.encoding), config),
  ),
  getSignatureStatuses: method(
    z.tuple([z.array(z.string()).max(maxSignatures)]).rest(anything),
    ([signatures]) =>
      readers.withContext(
        signatures.map((signature) => {
          const landed = readers.findVisible(signature);
          if (landed === null) return null;
          const confirmations = readers.slot() - landed.slot;
          const isFinal = confirmations >= slotsToFinality;
          return {
            slot: landed.slot,
            confirmations: isFinal ? null : confirmations,
            confirmationStatus: isFinal ? 'finalized' : 'confirmed',
            ...viewOutcome(landed.execution.err),
          };
        }),
      ),
  ),
  getSignaturesForAddress: method(
    z.tuple([addressParam, signaturesConfig]),
    ([at, { limit, before, minContextSlot }]) => {
      readers.requireSlot(minContextSlot);
      const all = ledger.findByAddress(at).filter(({ signature }) => readers.findVisible(signature) !== null);
      const cut = before === undefined ? 0 : all.findIndex(({ signature }) => signature === before) + 1;
      // Like a node that does not know the transaction at which the page before ended.
      if (before !== undefined && cut === 0) return [];
      return all.slice(cut, cut + limit).map(({ signature, execution, slot }) => ({
        signature,
        slot,
        err: execution.err,
        memo: null,
        blockTime: ledger.slots.blockTime(slot),
        confirmationStatus: 'confirmed',
      }));
    },
  ),
  getTransaction: method(z.tuple([signatureParam, transactionConfig]), ([signature, { encoding }]) => {
    const landed = readers.findVisible(signature);
    return landed === null ? null : viewTransaction(ledger, landed, encoding);
  }),
});

/** Answers one JSON-RPC call on that ledger; throws RpcError for what a node refuses. */
export const createSolanaMethods = (context: MethodContext): ((name: string, params: unknown) => unknown) => {
  const readers = createReaders(context);
  const methods = new Map(
    Object.entries({
      ...clusterMethods(context.ledger, readers),
      ...accountMethods(context.ledger, readers),
      ...transactionMethods(context.ledger, readers),
    }),
  );
  return (name, params) => {
    const handle = methods.get(name);
    if (handle === undefined) throw new RpcError(methodNotFound, `Method not found: ${name}`);
    return handle(params);
  };
};
