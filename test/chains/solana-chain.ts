import {
  address,
  createKeyPairSignerFromPrivateKeyBytes,
  getAddressEncoder,
  getBase58Decoder,
  type Address,
  type ReadonlyUint8Array,
} from '@solana/kit';
import {
  answerRpcBody,
  internalError,
  rpcFailure,
  rpcResult,
  RpcError,
  type RpcForward,
} from './json-rpc.ts';
import { localSolanaSeeds } from './local-keys.ts';
import type { RpcControls } from './rpc-faults.ts';
import { startRpcProxy } from './rpc-proxy.ts';
import {
  associatedTokenAddress,
  initializedState,
  mintCodec,
  readTokenAccount,
  tokenAccountCodec,
  tokenProgram,
} from './solana-accounts.ts';
import { createSolanaLedger, type SolanaLedger } from './solana-ledger.ts';
import { createSolanaMethods } from './solana-methods.ts';
import { blockhashLifetime } from './solana-slots.ts';

/** Faults of the RPC, and of the chain behind it. */
interface SolanaControls extends RpcControls {
  /** Sends are answered with their signature and never land. */
  dropSends: boolean;
  /** Sends are answered with their signature and wait for `landHeld`, which takes only those still valid. */
  holdSends: boolean;
  landHeld: () => void;
  /** A landed transaction has no status and cannot be read for so long. Its accounts change at once. */
  confirmDelayMs: number;
  /** Every blockhash given out so far becomes invalid, and the last block in which it was valid minutes old. */
  expireBlockhash: () => void;
  /** Skips blocks; 32 of them make a transaction final. */
  advanceSlots: (slots: number) => void;
  /** The node drops its blocks, as one does that starts anew from the state of another one. */
  forgetBlocks: () => void;
  /** Gives an account that holds nothing else so many lamports. */
  setLamports: (owner: Address, lamports: bigint) => void;
}

export interface SolanaChain {
  /** Through the switches of `controls`. */
  rpcUrl: string;
  network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1';
  usdc: Address;
  /** The secret is seed and public key, 64 bytes. The buyer has a token account and no SOL. */
  buyer: { address: Address; secretKeyBase58: string };
  /** Has SOL for fees and no USDC. */
  facilitator: { address: Address; secretKeyBase58: string };
  seller: { address: Address; tokenAccount: Address };
  /** USDC of an owner in its smallest unit; 0 without a token account. */
  balanceOf: (owner: string) => Promise<bigint>;
  /** Makes new USDC; makes the token account if there is none. */
  mint: (owner: string, amount: bigint) => Promise<void>;
  controls: SolanaControls;
  stop: () => Promise<void>;
}

const usdc = address('4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU');
const systemProgram = address('11111111111111111111111111111111');
const usdcDecimals = 6;
const facilitatorLamports = 1_000_000_000_000n;

const readKey = async (seed: Uint8Array): Promise<{ address: Address; secretKeyBase58: string }> => {
  const signer = await createKeyPairSignerFromPrivateKeyBytes(seed);
  const publicKey = getAddressEncoder().encode(signer.address);
  const secretKeyBase58 = getBase58Decoder().decode(Uint8Array.from([...seed, ...publicKey]));
  return { address: signer.address, secretKeyBase58 };
};

const writeMint = (ledger: SolanaLedger, options: { authority: Address; supply: bigint }): void => {
  const data = mintCodec.encode({
    mintAuthority: options.authority,
    supply: options.supply,
    decimals: usdcDecimals,
    isInitialized: 1,
    freezeAuthority: options.authority,
  });
  writeProgramAccount(ledger, usdc, data);
};

const writeTokenAccount = (
  ledger: SolanaLedger,
  at: Address,
  token: { owner: Address; amount: bigint },
): void => {
  const data = tokenAccountCodec.encode({
    mint: usdc,
    owner: token.owner,
    amount: token.amount,
    delegate: null,
    state: initializedState,
    rentExemptReserve: null,
    delegatedAmount: 0n,
    closeAuthority: null,
  });
  writeProgramAccount(ledger, at, data);
};

const writeProgramAccount = (ledger: SolanaLedger, at: Address, data: ReadonlyUint8Array): void =>
  ledger.setAccount({
    address: at,
    data,
    executable: false,
    lamports: ledger.rentExemption(BigInt(data.length)),
    programAddress: tokenProgram,
  });

/** USDC outside of transactions: what a faucet would do, without one. */
const createUsdc = (ledger: SolanaLedger, authority: Address) => {
  let supply = 0n;
  writeMint(ledger, { authority, supply });
  const amountAt = (at: Address): bigint => readTokenAccount(ledger.getAccount(at))?.amount ?? 0n;
  return {
    balanceOf: async (owner: string): Promise<bigint> =>
      amountAt(await associatedTokenAddress({ owner: address(owner), mint: usdc })),
    mint: async (owner: string, amount: bigint): Promise<void> => {
      const at = await associatedTokenAddress({ owner: address(owner), mint: usdc });
      // Nothing may wait between here and the write: another mint would be lost.
      supply += amount;
      writeMint(ledger, { authority, supply });
      writeTokenAccount(ledger, at, { owner: address(owner), amount: amountAt(at) + amount });
    },
  };
};

const forwardInProcess =
  (answer: (name: string, params: unknown) => unknown): RpcForward =>
  (body) =>
    Promise.resolve(
      answerRpcBody(body, (call) => {
        try {
          return rpcResult(call.id, answer(call.method, call.params));
        } catch (error) {
          return rpcFailure(
            call.id,
            error instanceof RpcError ? error : new RpcError(internalError, String(error)),
          );
        }
      }),
    );

/** Solana's devnet in small: a real runtime with real programs in this process, behind JSON-RPC on loopback. */
export const startSolanaChain = async ({ port = 0 }: { port?: number } = {}): Promise<SolanaChain> => {
  const [mintAuthority, facilitator, buyer, seller] = await Promise.all([
    readKey(localSolanaSeeds.mintAuthority),
    readKey(localSolanaSeeds.facilitator),
    readKey(localSolanaSeeds.buyer),
    readKey(localSolanaSeeds.seller),
  ]);
  const ledger = createSolanaLedger();
  const token = createUsdc(ledger, mintAuthority.address);
  ledger.airdrop(facilitator.address, facilitatorLamports);
  await token.mint(buyer.address, 0n);
  await token.mint(seller.address, 0n);
  let confirmDelayMs = 0;
  const methods = createSolanaMethods({ ledger, confirmDelayMs: () => confirmDelayMs });
  const proxy = await startRpcProxy({ forward: forwardInProcess(methods), port });
  return {
    rpcUrl: proxy.url,
    network: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
    usdc,
    buyer,
    facilitator,
    seller: {
      address: seller.address,
      tokenAccount: await associatedTokenAddress({ owner: seller.address, mint: usdc }),
    },
    balanceOf: token.balanceOf,
    mint: token.mint,
    controls: {
      ...proxy.controls,
      get dropSends() {
        return ledger.switches.dropSends;
      },
      set dropSends(isOn) {
        ledger.switches.dropSends = isOn;
      },
      get holdSends() {
        return ledger.switches.holdSends;
      },
      set holdSends(isOn) {
        ledger.switches.holdSends = isOn;
      },
      landHeld: () => ledger.landHeld(),
      get confirmDelayMs() {
        return confirmDelayMs;
      },
      set confirmDelayMs(delayMs) {
        confirmDelayMs = delayMs;
      },
      expireBlockhash: () => ledger.slots.advance(4 * blockhashLifetime),
      advanceSlots: (slots) => ledger.slots.advance(slots),
      forgetBlocks: () => ledger.forgetBlocks(),
      setLamports: (owner, lamports) =>
        ledger.setAccount({
          address: owner,
          data: new Uint8Array(),
          executable: false,
          lamports,
          programAddress: systemProgram,
        }),
    },
    stop: () => proxy.stop(),
  };
};
