import type { SchemeNetworkClient } from '@x402/core/types';
import type { z } from 'zod';
import type { Log } from '../../../kit/log.ts';
import type { Coin, RefundChain, RefundWallet } from './refund-transfer.ts';
import type {
  BegunPayment,
  Facilitator,
  FacilitatorHealth,
  FacilitatorTimeouts,
  FoundOutcome,
  PaymentOrder,
  SupportedKind,
} from './facilitator.ts';
import type { JsonRpc } from './json-rpc.ts';
import type { PaymentRequirements, SignedPayload } from './wire.ts';

/** How EVM buyers authorize a transfer: by the token's own ERC-3009, or through Permit2 where the token has none. */
export type TransferMethod = 'eip3009' | 'permit2';

/** A token that is taken as payment, one token being one USD. */
export interface PaymentAsset {
  symbol: string;
  /** EVM: the contract, in checksum form. Solana: the mint. */
  address: string;
  decimals: number;
  /** The domain under which EVM buyers sign; null on Solana, and for a token that signs nothing itself. */
  eip712: { name: string; version: string } | null;
  transfer: TransferMethod | null;
}

export interface PaymentNetwork {
  /** CAIP-2, the name in x402 v2. */
  id: `${string}:${string}`;
  /** The name in x402 v1, or the usual one where v1 has none. */
  v1Name: string;
  /** False when v1 clients do not know that name. They refuse a whole 402 that has an unknown name. */
  isInV1: boolean;
  family: NetworkFamily;
  label: string;
  isTest: boolean;
  /** A node that everybody may ask, slowly. */
  publicRpcUrl: string;
  coin: Coin;
  /** EVM: the most that one settlement may cost, in wei; null on Solana. */
  maxGasCost: bigint | null;
  asset: PaymentAsset;
}

/** The accounts that a payment charges. */
export interface PayingAccounts {
  /** The wallet that is charged; null where the proof does not tell, as when a delegate moves another's tokens. */
  payer: string | null;
  /** The account that the money is taken from: a wallet in lower case on EVM, a token account on Solana. */
  source: string;
}

/** An account that pays, and a payment that it signed. */
export interface FundsQuestion {
  source: string;
  asset: string;
  payload: SignedPayload;
}

export interface NodeAccess {
  rpc: JsonRpc;
  signal: AbortSignal;
}

/**
 * The right to send from an account that several processes share, so that they do not sign for the same nonce. Nothing
 * breaks without it: a process that sends without the lease loses a signature at worst.
 */
export interface AccountLease {
  /**
   * Takes the lease, or keeps it. `isKept` is true when this process held it without a break, so that nobody else has
   * sent in between. Waits at most `waitMs` for other processes, and then goes on without the lease. Never rejects.
   */
  take(options: { signal: AbortSignal; waitMs: number }): Promise<{ isKept: boolean }>;
  /** Never rejects. */
  release(): Promise<void>;
}

/** The part of a facilitator in this process that needs the packages of the chain. */
export interface LocalEngine extends Pick<Facilitator, 'verify' | 'settle' | 'findOutcome'> {
  /** Tells whether it can settle at all. Throws RpcOutage or RpcRefusal when the node does not tell. */
  check(signal: AbortSignal): Promise<FacilitatorHealth>;
  /**
   * Returns the further members of terms of the scheme `upto`; null where the chain lacks its contracts, or the node
   * does not tell. Absent where the family has no such scheme.
   */
  readUpto?(signal: AbortSignal): Promise<Record<string, unknown> | null>;
}

export interface LocalEngineOptions {
  network: PaymentNetwork;
  payTo: string;
  /** The key of the account that settles, in the form that `secretKeyProblem` accepts. */
  privateKey: string;
  rpc: JsonRpc;
  timeouts: FacilitatorTimeouts;
  /** Returns the lease of an account, named by CAIP-2 network and address. */
  accountLeaseOf: (account: string) => AccountLease;
  log: Log;
  /** Epoch milliseconds. */
  now: () => number;
}

export interface RefundOptions {
  network: PaymentNetwork;
  rpc: JsonRpc;
  /** Epoch milliseconds. */
  now: () => number;
}

/** A wallet that was generated. Beside the address it holds the key, under a name of the family's own. */
export interface GeneratedWallet {
  address: string;
}

/** The parts of a JavaScript program that pays with the official x402 client. */
export interface ClientLibrary {
  /** npm packages beside @x402/fetch. */
  packages: string;
  imports: readonly string[];
  /** Makes `signer` from a key in the environment. */
  signer: string;
  /** The class that takes `signer`. */
  scheme: string;
}

export interface UnsignedTransfer {
  wallet: string;
  requirements: PaymentRequirements;
  decimals: number;
}

/** How the wallets of a family sign a message (CAIP-122). */
export interface SignInStyle {
  type: 'eip191' | 'ed25519';
  /** The kind of account that the text names. */
  account: string;
  /** The lines in place of a statement and the empty line behind it. */
  whenUnstated: readonly string[];
}

/** A text, and the address that claims to have signed it. */
export interface SignedText {
  text: string;
  address: string;
  signature: string;
  /** CAIP-2. */
  network: string;
}

/** The wallet, the node, the key of a facilitator in this process, and the key of refunds. */
export type FamilyVariable = 'PAY_TO' | 'RPC_URL' | 'FACILITATOR_KEY' | 'REFUND_KEY';

export interface PayingWallet {
  address: string;
  payload: SignedPayload;
}

/**
 * A family of networks, with all that differs between families. Addresses, keys and proofs are read without the
 * packages of the chain; every method that returns a promise loads what it needs. Methods that take a `NodeAccess`
 * throw RpcOutage and RpcRefusal.
 */
export interface NetworkFamily {
  /** The key of its wallet in wallets.json. */
  readonly name: string;
  /** The namespace of its CAIP-2 names. */
  readonly namespace: string;
  readonly settingPrefix: `X402_${string}`;
  readonly variables: Readonly<Record<FamilyVariable, z.ZodOptional<z.ZodType<string>>>>;
  readonly addressSchema: z.ZodType<string>;
  /** The usual way of transfer; null where tokens are transferred in one way only. */
  readonly defaultTransfer: TransferMethod | null;
  /** The time after which no fork can take a block back, with a margin, in milliseconds. */
  readonly finalityMs: number;
  /** The official x402 client of the family, for examples. */
  readonly client: ClientLibrary;
  /** The form of a transaction's hash or signature. */
  readonly transactionPattern: RegExp;

  /** Writes an address, a transaction or a payment's identity in its one form. Returns any other text unchanged. */
  normalize(text: string): string;
  /** Returns why money must not be sent to an address; null when nothing is wrong with the address itself. */
  addressProblem(address: string): string | null;
  /** Returns what a secret key must be; null for a key of that form. */
  secretKeyProblem(key: string): string | null;
  /** The form of a generated wallet in wallets.json. */
  readonly walletSchema: z.ZodType<GeneratedWallet>;
  createWallet(): Promise<GeneratedWallet>;

  payloadSchema(payload: unknown): z.ZodType<SignedPayload>;
  /** Returns what the chain accepts only once. `network` is the built-in one. Throws UnreadablePayload. */
  identify(payload: SignedPayload, network: PaymentNetwork): Promise<string>;
  /** Returns the stable code of a contradiction between the signed part and the terms; null for none. */
  findMismatch(
    payload: SignedPayload,
    of: { terms: PaymentRequirements; asset: PaymentAsset },
  ): string | null;
  /**
   * Finds the paying accounts in the signed data. With the facilitator's word, it would decide where refunds
   * go. Null for a proof without the transfer that is sold. Throws for a payload that cannot be read.
   */
  findPayingAccounts(order: Pick<PaymentOrder, 'payload' | 'requirements'>): Promise<PayingAccounts | null>;
  /**
   * Names a wallet apart from its form: `eip155:<address in lower case>`, for a contract `eip155:<chain>:<address>`,
   * also one that its signature deploys, because another owner may have its address on another chain;
   * `solana:<address>`.
   */
  findWallet(of: PayingWallet & { network: PaymentNetwork }, node: NodeAccess): Promise<string>;
  /** Returns the account that the buyer chose to pay the fees; null where the buyer chooses none. */
  readFeePayer(payload: SignedPayload): Promise<string | null>;
  /** `extra`: undefined before the facilitator was asked. Returns `unsupported` when the terms lack something without it. */
  readSupported(extra: Readonly<Record<string, unknown>> | null | undefined): SupportedKind | 'unsupported';

  readonly signIn: SignInStyle;
  /** Null when the signature is not that of its address. Asks the node about wallets that are contracts. */
  findSigner(signed: SignedText, node: NodeAccess): Promise<string | null>;

  /** Prepares a facilitator in this process. `load` loads the packages of the chain. */
  prepareLocal(options: LocalEngineOptions): { kind: SupportedKind; load: () => Promise<LocalEngine> };

  /** Asks the chain for the outcome of a payment that somebody else may have settled. `now`: epoch milliseconds. */
  findOutcome(payment: BegunPayment, node: NodeAccess & { now: number }): Promise<FoundOutcome>;
  /** Returns the smaller of the account's balance and what it allows to be taken, in the asset's smallest unit. */
  readFunds(of: FundsQuestion, node: NodeAccess): Promise<bigint>;
  /** Returns the time of the newest block that the node knows (Solana: of the newest final one), in epoch milliseconds. */
  readTime(node: NodeAccess): Promise<number>;
  /** Compares what is configured with the chain. Returns one line for each fault, with the setting to change. */
  findFaults(of: { network: PaymentNetwork; payTo: string }, node: NodeAccess): Promise<string[]>;

  /** Opens a wallet that signs proofs as a buyer. `key` is of the form that `secretKeyProblem` accepts. */
  openClient(key: string, options: { rpcUrl: string }): Promise<SchemeNetworkClient>;

  /**
   * Makes the transaction that pays `requirements` from a wallet, which has yet to sign it, in base64. Absent where wallets
   * sign the terms themselves.
   */
  prepareTransfer?(of: UnsignedTransfer, node: NodeAccess): Promise<string>;

  openRefundChain(options: RefundOptions): Promise<RefundChain>;
  /** Throws TypeError for a key of the right form that is no key, without showing it. */
  openRefundWallet(options: RefundOptions, key: string): Promise<RefundWallet>;
}
